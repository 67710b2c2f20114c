//! What most programs need, under one name: `use minorant::prelude::*;`.

pub use crate::data::{Dataset, Images, Label, Labels, Recordings, Sequences};
pub use crate::facade::{
    ChainCrf, ChainSvm, LargeMarginHmm, LatentSvm, Logistic, NeuroCrf, RampSvm, RobustSvm, S3vm,
    SegmentSvm, Svm, TreeSvm, Tsvm,
};
pub use crate::family::{Context, FittedModel, Predictions, Settings, TrainError, TrainReport};
