//! The way in for Rust programs: one builder a model, with one setter for each option that the model
//! takes. Families declare models and options here, and builders and setters follow from the same
//! declarations. A builder collects settings and hands them to [`train`]; it checks
//! and computes nothing itself, so that a mistake is told, in a sentence, when the model is fitted.
//!
//! ```
//! use minorant::prelude::*;
//!
//! let rows = [[0.0, 1.0], [1.0, 0.5], [0.1, 0.9], [0.9, 0.2]];
//! let data = Dataset::from_rows(&rows, &["cat", "dog", "cat", "dog"])?;
//! let model = Svm::new().lambda(1e-2).bias(1.0).fit(&data)?;
//! assert!(model.facts.certificate.certifies(1e-3));
//!
//! let new = Dataset::from_rows(&[[0.05, 0.95]], ())?;
//! assert_eq!(model.predict(&new)?.label(0), Some(&Label::from("cat")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Context, Data, FittedModel, Settings, TrainError, TrainReport, train};
use crate::options::OptionError;
use crate::options::common::THREADS;

/// Declares models, and a builder for each of them. The first line of a model's documentation says in
/// a few words what it is, for lists; `regularized` models take the options of λ/2 ‖w‖² plus a mean
/// loss, `unregularized` ones weigh losses by constants of their own.
macro_rules! models {
    ($shared:ident; $(
        #[doc = $about:literal] $(#[doc = $more:literal])*
        $builder:ident {
            name: $model:literal,
            is_convex: $is_convex:literal,
            $(takes_targets: $takes_targets:literal,)?
            example: $example:literal
        }
    )+) => {
        /// The builders of these models.
        #[allow(unreachable_pub, reason = "rooms of one model are private")]
        pub mod builders {
            pub use super::{$($builder),+};
        }

        $(
            #[doc = concat!("`", $model, "`:", $about, ".")]
            $(#[doc = $more])*
            #[derive(Debug, Clone)]
            pub struct $builder {
                settings: $crate::family::Settings,
            }

            impl Default for $builder {
                fn default() -> Self {
                    $builder { settings: $crate::family::builder::settings_of($model) }
                }
            }

            impl $builder {
                /// The model.
                pub(crate) const MODEL: $crate::family::Model = $crate::family::Model {
                    name: $model,
                    about: $about.trim_ascii_start(),
                    is_convex: $is_convex,
                    takes_targets: false $(|| $takes_targets)?,
                    example: $example,
                };

                /// The model with the defaults of all its options.
                pub fn new() -> Self {
                    Self::default()
                }

                /// Trains.
                pub fn fit<'d>(
                    &self,
                    data: impl Into<$crate::family::Data<'d>>,
                ) -> Result<$crate::family::FittedModel, $crate::family::TrainError> {
                    $crate::family::builder::fit(&self.settings, data.into())
                }

                /// Trains with a context: somebody who may cancel the run, watch it or keep its
                /// checkpoints. Returns how the run went besides the model. The run has the threads of
                /// the `rayon` pool that calls it.
                pub fn fit_with<'d>(
                    &self,
                    data: impl Into<$crate::family::Data<'d>>,
                    context: $crate::family::Context<'_>,
                ) -> $crate::family::builder::WithReport {
                    $crate::family::builder::fit_with(&self.settings, data.into(), context)
                }

                /// What was set, for paths, cross-validation and checkpoints.
                pub fn settings(&self) -> &$crate::family::Settings {
                    &self.settings
                }

                pub(in $crate::family) fn set(mut self, option: &str, value: $crate::options::Value) -> Self {
                    self.settings.put_value(option, value);
                    self
                }
            }

            $crate::options::common::every_run!([$crate::family::builder::common_setters] $builder);
            $crate::options::common::$shared!([$crate::family::builder::common_setters] $builder);
        )+
    };
}
pub(crate) use models;

/// Declares which models take which options: the list for the option table, and a setter for each
/// option in the builders of the models that take it. A row names the builders, the kind of the
/// setter's value and its name, the option, and where it differs the situation in which the option
/// matters to these models.
macro_rules! taken {
    ($(#[$doc:meta])* $vis:vis $list:ident; $(
        ($($builder:ident)+) $kind:ident $name:ident: $key:ident $(, $probe:expr)?;
    )+) => {
        $(#[$doc])*
        $vis static $list: &[$crate::options::Taken] = &[$(
            $crate::options::Taken::by(&[$($builder::MODEL.name),+], &$key.spec)$(.probed($probe))?
        ),+];

        $($(
            impl $builder {
                $crate::family::builder::setter!(
                    $kind $name $key concat!("Sets [`", stringify!($key), "`].")
                );
            }
        )+)+
    };
}
pub(crate) use taken;

/// The setters of a builder for options that models of several families take.
macro_rules! common_setters {
    ($builder:ident; $($kind:ident $name:ident: $key:ident;)+) => {
        impl $builder {
            $($crate::family::builder::setter!(
                $kind $name ($crate::options::common::$key) concat!(
                    "Sets [`", stringify!($key), "`](crate::options::common::", stringify!($key), ")."
                )
            );)+
        }
    };
}
pub(crate) use common_setters;

/// A method of a builder that sets an option, by the kind of its value. Files and what is printed are
/// the business of whoever reads and writes them.
macro_rules! setter {
    (file $($of:tt)*) => {};
    (f64 $($of:tt)*) => { $crate::family::builder::setter!(as f64, Number => $($of)*); };
    (whole $($of:tt)*) => { $crate::family::builder::setter!(as u64, Whole => $($of)*); };
    (flag $($of:tt)*) => { $crate::family::builder::setter!(as bool, Flag => $($of)*); };
    (word $name:ident $key:tt $doc:expr) => {
        #[doc = $doc]
        pub fn $name(self, value: impl Into<$crate::options::Value>) -> Self {
            self.set($key.spec.name, value.into())
        }
    };
    (numbers $($of:tt)*) => {
        $crate::family::builder::setter!(as impl Into<Vec<f64>>, Numbers => $($of)*);
    };
    (wholes $($of:tt)*) => {
        $crate::family::builder::setter!(as impl Into<Vec<u64>>, Wholes => $($of)*);
    };
    (pair $name:ident $key:tt $doc:expr) => {
        #[doc = $doc]
        /// Each call is for one name.
        pub fn $name(self, of: impl Into<$crate::data::Label>, value: f64) -> Self {
            self.set($key.spec.name, $crate::options::Value::Pairs(vec![(of.into(), value)]))
        }
    };
    (as $type:ty, $value:ident => $name:ident $key:tt $doc:expr) => {
        #[doc = $doc]
        pub fn $name(self, value: $type) -> Self {
            self.set($key.spec.name, $crate::options::Value::$value(value.into()))
        }
    };
}
pub(crate) use setter;

pub(crate) fn settings_of(model: &str) -> Settings {
    Settings::new(model).unwrap_or_else(|why| unreachable!("{why}"))
}

pub(crate) fn fit(settings: &Settings, data: Data<'_>) -> Result<FittedModel, TrainError> {
    let train = || train(data, settings, Context::default());
    let fitted = match settings.get(&THREADS) {
        None => train(),
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let why = |error| TrainError::Setting(format!("{threads} threads: {error}"));
            pool.map_err(why)?.install(train)
        }
    };
    fitted.map(|(model, _)| model)
}

/// A fitted model with how its run went.
pub type WithReport = Result<(FittedModel, TrainReport), TrainError>;

pub(crate) fn fit_with(settings: &Settings, data: Data<'_>, context: Context<'_>) -> WithReport {
    if settings.is_given(THREADS.spec.name) {
        // Whoever watches need not be able to go to another thread.
        return Err(OptionError::new(
            THREADS.spec.name,
            "goes with fit, not with fit_with, which runs on the threads of the pool that calls it",
        )
        .into());
    }
    train(data, settings, context)
}
