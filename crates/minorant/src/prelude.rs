//! What most programs need, under one name: `use minorant::prelude::*;`.

pub use crate::data::{Dataset, Images, Label, Labels, Recordings, Sequences, Targets};
pub use crate::family::{Context, FittedModel, Predictions, Settings, TrainError, TrainReport};
pub use crate::family::{
    chain::builders::*, hmm::builders::*, image::builders::*, kernel::builders::*,
    linear::builders::*, neuro::builders::*,
};
