//! Networks under a chain: a feed-forward network turns the attributes of each token into learned
//! features, and a conditional random field labels the sequence by these (§5.6 of Do and Artières).
//! [`Network`] is the function and its derivatives, [`NeuroRisk`] the risk of Eq. 23, [`start`] the
//! weights to begin with. No optimiser is written here, and no file is read.

mod inputs;
mod network;
mod pretrain;
mod risk;
mod start;

pub use inputs::Inputs;
pub use network::{Activation, Network};
pub use pretrain::Rbm;
pub use risk::NeuroRisk;
pub use start::{Start, start};
