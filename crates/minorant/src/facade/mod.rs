//! The way in for Rust programs: one builder a model, with one setter for each option that the model
//! takes, drawn from the same table as the command line's flags. A builder collects settings and
//! hands them to [`family::train`]; it checks and computes nothing itself, so
//! that a mistake is told, in a sentence, when the model is fitted.
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

mod setters;
mod word;

pub use word::Word;

use crate::family::{self, Context, Data, FittedModel, Settings, TrainError, TrainReport};
use crate::options::common::THREADS;
use crate::options::{OptionError, Value};
use setters::setter;

/// A builder for each model: its name, what it is, and the options that it has setters for.
macro_rules! builders {
    ($($(#[$doc:meta])* $builder:ident($model:literal): $($option:ident)+;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone)]
            pub struct $builder {
                settings: Settings,
            }

            impl Default for $builder {
                fn default() -> Self {
                    $builder { settings: settings_of($model) }
                }
            }

            impl $builder {
                /// The model with the defaults of all its options.
                pub fn new() -> Self {
                    Self::default()
                }

                /// Trains.
                pub fn fit<'d>(
                    &self,
                    data: impl Into<Data<'d>>,
                ) -> Result<FittedModel, TrainError> {
                    fit(&self.settings, data.into())
                }

                /// Trains with a context: somebody who may cancel the run, watch it or keep its
                /// checkpoints. Returns how the run went besides the model. The run has the threads of
                /// the `rayon` pool that calls it.
                pub fn fit_with<'d>(
                    &self,
                    data: impl Into<Data<'d>>,
                    context: Context<'_>,
                ) -> Result<(FittedModel, TrainReport), TrainError> {
                    fit_with(&self.settings, data.into(), context)
                }

                /// What was set, for paths, cross-validation and checkpoints.
                pub fn settings(&self) -> &Settings {
                    &self.settings
                }

                fn set(mut self, option: &str, value: Value) -> Self {
                    self.settings.put_value(option, value);
                    self
                }

                $(setter!($option);)+
            }
        )+

        #[cfg(test)]
        const BUILDERS: &[(&str, &[&str])] = &[$(($model, &[$(stringify!($option)),+])),+];
    };
}

builders! {
    /// A support vector machine: two or more classes, or sets of labels.
    Svm("svm"):
        lambda c weights loss huber multiclass label_loss bias bias_weight class_weight labels
        solver memory parts seed max_memory threads tol abs_tol max_evals max_seconds;

    /// Logistic regression, binary or softmax.
    Logistic("logistic"):
        lambda c weights penalty multiclass bias bias_weight class_weight labels
        solver memory parts seed max_memory threads tol abs_tol max_evals max_seconds;

    /// A support vector machine with a bounded loss, for data with outliers. Its problem is not
    /// convex: there is no global bound.
    RampSvm("ramp-svm"):
        lambda c weights ramp bias bias_weight class_weight labels
        solver memory locality convex_problems max_memory threads tol abs_tol max_evals max_seconds;

    /// A transductive support vector machine, for rows of which most have no label: those that are
    /// labelled 0. [`Dataset::with_unlabelled`](crate::data::Dataset::with_unlabelled) puts such
    /// rows under others. Its problem is not convex.
    Tsvm("tsvm"):
        lambda c weights gamma balance_mean starts bias bias_weight class_weight labels
        solver memory seed locality convex_problems max_memory threads tol abs_tol max_evals
        max_seconds;

    /// Labels of sequences, by a structured support vector machine.
    ChainSvm("chain-svm"):
        lambda c weights per pairs boundary bias label_loss
        solver memory parts seed max_memory threads tol abs_tol max_evals max_seconds;

    /// Labels of sequences, by a conditional random field.
    ChainCrf("chain-crf"):
        lambda c weights per pairs boundary bias penalty
        solver memory parts seed max_memory threads tol abs_tol max_evals max_seconds;

    /// Labels of sequences, by a network under a conditional random field.
    NeuroCrf("neuro-crf"):
        lambda c weights hidden activation pretrain per boundary validation_fraction
        solver memory seed locality max_memory threads tol abs_tol max_evals max_seconds;

    /// Rows of which most have no label, those that are labelled 0, with kernels.
    S3vm("s3vm"):
        c1 c2 balance kernel sigma power offset
        solver degree mode ramp seed max_memory threads tol abs_tol max_evals max_seconds;

    /// Two classes, of which the positive one is made of hidden components, with kernels.
    LatentSvm("latent-svm"):
        components c_pos c_neg kernel sigma power offset
        solver degree seed max_memory threads tol max_evals max_seconds;

    /// A support vector machine with a bounded loss and kernels, for data with outliers.
    RobustSvm("robust-svm"):
        c ramp kernel sigma power offset
        solver degree seed max_memory threads tol max_evals max_seconds;

    /// Recordings by hidden Markov models with Gaussians: classes of sequences, or labels of frames,
    /// trained for large margins.
    LargeMarginHmm("hmm"):
        lambda c weights task states mixtures topology group_weight validation_fraction
        solver memory seed locality max_memory threads tol abs_tol max_evals max_seconds;

    /// Images that are cut into characters of given widths.
    SegmentSvm("segment-svm"):
        lambda c weights loss
        solver memory parts seed max_memory threads tol abs_tol max_evals max_seconds;

    /// Images in which the parts of an object are found.
    TreeSvm("tree-svm"):
        lambda c weights
        solver memory parts seed max_memory threads tol abs_tol max_evals max_seconds;
}

fn settings_of(model: &str) -> Settings {
    Settings::new(model).unwrap_or_else(|why| unreachable!("{why}"))
}

fn fit(settings: &Settings, data: Data<'_>) -> Result<FittedModel, TrainError> {
    let train = || family::train(data, settings, Context::default());
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

fn fit_with(
    settings: &Settings,
    data: Data<'_>,
    context: Context<'_>,
) -> Result<(FittedModel, TrainReport), TrainError> {
    if settings.is_given(THREADS.spec.name) {
        // Whoever watches need not be able to go to another thread.
        return Err(OptionError::new(
            THREADS.spec.name,
            "goes with fit, not with fit_with, which runs on the threads of the pool that calls it",
        )
        .into());
    }
    family::train(data, settings, context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Group, Kind};

    /// Whether a setter is due: files are read by whoever reads the data.
    fn is_due(group: Group, kind: Kind) -> bool {
        let is_of_training = matches!(group, Group::Problem | Group::Method | Group::Stopping);
        is_of_training && !matches!(kind, Kind::File)
    }

    #[test]
    fn every_model_has_a_builder_with_a_setter_for_each_of_its_options() {
        let all = family::models();
        assert_eq!(BUILDERS.len(), all.len());
        for entry in all {
            let name = entry.model.name;
            let found = BUILDERS.iter().find(|(model, _)| *model == name);
            let (_, setters) = found.unwrap_or_else(|| panic!("no builder of {name}"));
            for spec in entry.options().map(|taken| taken.spec) {
                let option = spec.name.replace('-', "_");
                let is_there = setters.contains(&option.as_str());
                let is_due = is_due(spec.group, spec.kind);
                assert!(is_there || !is_due, "{name}: no setter for {option}");
            }
            for setter in *setters {
                let option = setter.replace('_', "-");
                assert!(entry.option(&option).is_some(), "{name} does not take {option}");
            }
        }
    }

    #[test]
    fn setters_are_the_options_and_mistakes_are_told_when_fitting() {
        let svm = Svm::new().lambda(0.5).solver("ls-bmrm").class_weight("dog", 2.0);
        let svm = svm.class_weight("cat", 3.0).weights([1.0, 2.0]).max_evals(7);
        let given: Vec<&str> = svm.settings().given().map(|(name, _)| name).collect();
        assert_eq!(given, ["class-weight", "lambda", "max-evals", "solver", "weights"]);
        let data = crate::generate::noisy_plane(20, 3, 1, 0);
        let told = |svm: &Svm| svm.fit(&data).expect_err("a refusal").to_string();
        assert!(told(&Svm::new().huber(-1.0)).starts_with("huber must be a positive number"));
        assert!(told(&Svm::new().solver("magic")).starts_with("solver 'magic' does not exist"));
        assert!(told(&Svm::new().loss("ak")).starts_with("loss must be hinge or"));
        let threads = Svm::new().threads(1);
        assert!(threads.fit(&data).is_ok());
        let told = threads.fit_with(&data, Context::default()).expect_err("a refusal").to_string();
        assert!(told.starts_with("threads goes with fit"), "{told}");
    }
}
