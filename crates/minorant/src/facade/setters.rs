//! The setters of all builders, each once: the option's name, what kind of value it takes, and what
//! it means. Ranges and defaults stand in the option table.

/// A method of a builder that sets an option.
macro_rules! setter {
    // What is minimised.
    (lambda) => { setter!(f64 lambda "lambda" "λ of λ/2 ‖w‖² + mean loss; 1 / the sum of the example weights unless it is set."); };
    (c) => { setter!(f64 c "c" "What losses count: LIBLINEAR's C = 1/(λ · sum of the example weights) instead of λ, or the C of `robust-svm`."); };
    (weights) => { setter!(numbers weights "weights" "Example weights: a weight equals so many repetitions."); };
    (loss) => { setter!(word loss "loss" "The loss, by its name or as a value of the model's enumeration."); };
    (huber) => { setter!(f64 huber "huber" "`huber-hinge`: the loss is quadratic within this of the margin 1."); };
    (penalty) => { setter!(word penalty "penalty" "How weights are penalised: `l2` or `l1`."); };
    (multiclass) => { setter!(word multiclass "multiclass" "How more than two classes are trained: `joint` or `ovr`."); };
    (label_loss) => { setter!(numbers label_loss "label-loss" "Δ: for each true class, what each other one costs, in class order, row after row."); };
    (ramp) => { setter!(f64 ramp "ramp" "S of the loss min(1 − S, hinge); of `s3vm`'s `cccp`, how near to 0 decisions leave a row without label."); };
    (gamma) => { setter!(f64 gamma "gamma" "Weight γ of the mean loss of the unlabelled rows."); };
    (balance_mean) => { setter!(f64 balance_mean "balance-mean" "Keeps the mean decision over the unlabelled rows near this."); };
    (bias) => { setter!(f64 bias "bias" "Adds a constant feature of this value, regularized like the others."); };
    (bias_weight) => { setter!(f64 bias_weight "bias-weight" "Regularizes the constant feature with this weight θ."); };
    (class_weight) => { setter!(pair class_weight "class-weight" "The weight of a class; each call is for one class."); };
    (labels) => { setter!(word labels "labels" "What labels are: `binary`, `multiclass` or `multilabel`; by their look unless it is set."); };
    (per) => { setter!(word per "per" "What the risk is the mean over: `sequence` or `token`."); };
    (pairs) => { setter!(word pairs "pairs" "The pairs of attribute and label, and of labels, that have weights: `all` or `observed`."); };
    (boundary) => { setter!(flag boundary "boundary" "Whether labels at the beginning and at the end have weights."); };
    (hidden) => { setter!(wholes hidden "hidden" "Units of each hidden layer, from the inputs on."); };
    (activation) => { setter!(word activation "activation" "What hidden units do: `sigmoid`, `tanh` or `relu`."); };
    (pretrain) => { setter!(word pretrain "pretrain" "The weights to begin with: `rbm` or `none`."); };
    (validation_fraction) => { setter!(f64 validation_fraction "validation-fraction" "Holds out this share of the sequences, and keeps the weights that do best on them."); };
    (c1) => { setter!(f64 c1 "c1" "What the loss of a labelled row counts."); };
    (c2) => { setter!(f64 c2 "c2" "What the loss of an unlabelled row counts."); };
    (balance) => { setter!(word balance "balance" "Positive labels among the unlabelled rows: `none`, `count=N`, `LO:HI` or `auto`."); };
    (kernel) => { setter!(word kernel "kernel" "The kernel: `linear`, `rbf`, `poly` or `precomputed`."); };
    (sigma) => { setter!(f64 sigma "sigma" "`rbf`: the width of the kernel."); };
    (power) => { setter!(whole power "power" "`poly`: the power of the kernel."); };
    (offset) => { setter!(f64 offset "offset" "`poly`: what is added to inner products."); };
    (components) => { setter!(whole components "components" "Hidden components of the positive class."); };
    (c_pos) => { setter!(f64 c_pos "c-pos" "What the loss of a positive row counts."); };
    (c_neg) => { setter!(f64 c_neg "c-neg" "What the loss of a negative row counts."); };
    (task) => { setter!(word task "task" "What has a label: `classify` (sequences) or `label` (frames)."); };
    (states) => { setter!(whole states "states" "States of each unit."); };
    (mixtures) => { setter!(whole mixtures "mixtures" "Gaussians of each state."); };
    (topology) => { setter!(word topology "topology" "Which states follow each other: `left-right` or `ergodic`."); };
    (group_weight) => { setter!(pair group_weight "group-weight" "The weight θ that holds a group of weights at their start: `means`, `variances`, `transitions` or `mixtures`."); };

    // How it is minimised.
    (solver) => { setter!(word solver "solver" "The solver; a name that the model does not have lists those that it has."); };
    (memory) => { setter!(whole memory "memory" "Planes to keep, the aggregate included; steps that quasi-Newton methods remember."); };
    (parts) => { setter!(whole parts "parts" "Plane models, one for each block of rows."); };
    (seed) => { setter!(whole seed "seed" "The seed of solvers and starts that draw random numbers."); };
    (locality) => { setter!(word locality "locality" "How localities of planes grow: `path` or `squares`."); };
    (convex_problems) => { setter!(word convex_problems "convex-problems" "`cccp`: where its convex problems are solved, `primal` or `dual`."); };
    (starts) => { setter!(whole starts "starts" "Runs from different starts, of which the best is kept."); };
    (degree) => { setter!(f64 degree "degree" "`pdm`: candidates of a round, as a fraction of the rows that it searches over."); };
    (mode) => { setter!(word mode "mode" "`pdm`: `search` or `strict`."); };
    (max_memory) => { setter!(whole max_memory "max-memory" "Bytes for planes or kernels; a quarter of the machine's memory unless it is set."); };
    (threads) => { setter!(whole threads "threads" "Threads; the result does not depend on it."); };

    // When a run ends.
    (tol) => { setter!(f64 tol "tol" "Stops at this relative gap, certified where the problem is convex."); };
    (abs_tol) => { setter!(f64 abs_tol "abs-tol" "Stops at this absolute gap."); };
    (max_evals) => { setter!(whole max_evals "max-evals" "Stops after this many evaluations."); };
    (max_seconds) => { setter!(f64 max_seconds "max-seconds" "Stops after this many seconds of optimisation."); };

    // One method for each kind of value.
    (f64 $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, value: f64) -> Self {
            self.set($option, Value::Number(value))
        }
    };
    (whole $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, value: u64) -> Self {
            self.set($option, Value::Whole(value))
        }
    };
    (flag $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, value: bool) -> Self {
            self.set($option, Value::Flag(value))
        }
    };
    (word $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, value: impl Word) -> Self {
            self.set($option, Value::Word(value.word()))
        }
    };
    (numbers $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, values: impl Into<Vec<f64>>) -> Self {
            self.set($option, Value::Numbers(values.into()))
        }
    };
    (wholes $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, values: impl Into<Vec<u64>>) -> Self {
            self.set($option, Value::Wholes(values.into()))
        }
    };
    (pair $name:ident $option:literal $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, of: impl Into<crate::data::Label>, value: f64) -> Self {
            self.set($option, Value::Pairs(vec![(of.into(), value)]))
        }
    };
}
pub(super) use setter;
