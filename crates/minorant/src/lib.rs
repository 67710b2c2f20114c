#![doc = include_str!("../../../README.md")]
//!
//! # The library
//!
//! **The way in.** [`prelude`] has a builder for each model ([`family::builder`]), data sets
//! ([`data::Dataset`]: from files, rows, slices or, with the feature `ndarray`, arrays) and what
//! training gives. Fitted models predict, evaluate, save themselves and are audited
//! ([`family::FittedModel`]); [`path`] walks over λ, [`checkpoint`] goes on with a run that was
//! stopped.
//!
//! **By name.** Whoever does not know the model beforehand, like the command and Python, asks
//! [`family`] (models, settings, the walk from data to a model) and [`options`] (the table of all
//! options).
//!
//! **For experts.** Below that, everything is about risks: [`risk`], [`mod@intercept`], [`structured`],
//! [`hmm`], [`neural`] and [`kernel`] say what is minimised, [`solver`] (with [`bundle`], [`master`],
//! [`mod@line`] and [`regularizer`]; [`s3vm`] and [`latent`] for kernels) how, [`certificate`], [`proof`]
//! and [`audit`] what is known of the answer, [`trace`] and [`archive`] what a run tells and keeps,
//! [`linalg`] what it computes with, [`generate`] and [`problems`] what to try it on. A risk of your
//! own implements [`risk::Risk`] (or just a [`risk::Loss`] for a linear model) and goes to
//! [`solver::run`]:
//!
//! ```
//! use minorant::linalg::{Design, Matrix};
//! use minorant::regularizer::L2;
//! use minorant::risk::{Cancel, ExampleWeights, LinearRisk, hinge::Hinge};
//! use minorant::solver::{Method, MethodOptions, Problem, StopRules, run};
//!
//! let rows = Matrix::dense(3, 2, vec![1.0, 0.5, -0.5, 1.0, -1.0, -1.0].into())?;
//! let loss = Hinge::new(vec![1.0, 1.0, -1.0]);
//! let risk = LinearRisk::new(Design::new(&rows, None), loss, ExampleWeights::mean(3));
//! let regularizer = L2::new(0.1)?;
//! let problem = Problem::new(&risk, &regularizer);
//! let mut solver = Method::Auto.build(problem, &MethodOptions::default())?;
//! let mut trace = Vec::new();
//! let outcome =
//!     run(&mut *solver, problem, StopRules::default(), &Cancel::new(), &mut trace, &mut ())?;
//! assert!(outcome.certificate.certifies(1e-3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod archive;
pub mod audit;
#[cfg(doctest)]
pub mod book;
pub mod bundle;
pub mod certificate;
pub mod checkpoint;
mod container;
pub mod family;
pub mod fingerprint;
pub mod generate;
pub mod hmm;
pub mod intercept;
pub mod kernel;
pub mod latent;
pub mod line;
pub mod master;
pub mod neural;
pub mod options;
pub mod path;
pub mod prelude;
pub mod problems;
pub mod proof;
pub mod regularizer;
pub mod risk;
pub mod s3vm;
pub mod solver;
pub mod structured;
pub mod system;
pub mod trace;

pub use container::{Array, FileError, file_behind, write_atomically};
pub use minorant_data as data;
pub use minorant_linalg as linalg;
