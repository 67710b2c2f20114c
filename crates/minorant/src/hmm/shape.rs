//! What a model looks like: its task, its topology, and which weight means what. Logits belong to
//! choices; a choice says to which arcs (or mixture components) its probabilities go.

use std::ops::Range;

/// What the model is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Task {
    /// The class of a sequence: one unit a class.
    #[default]
    Classify,
    /// The label of each frame: units follow each other.
    Label,
}

/// Which states may follow each other within a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Topology {
    /// Stay, or go on to the next; a sequence to classify goes from the first to the last state.
    #[default]
    LeftRight,
    /// Any after any.
    Ergodic,
}

/// What the Gaussians know of how features go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Covariance {
    /// Nothing: each feature has its own precision.
    #[default]
    Diagonal,
    /// Everything, by the factors of the precision matrix UᵀDU: U has ones on its diagonal and free
    /// weights below it, D has the exponentials of free weights. So every weight is free, and row j of U
    /// with 1/d_j tells how feature j is spread around what the features before it foretell.
    Full,
}

/// Weights of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Logits of arcs.
    Transitions,
    /// Means.
    Means,
    /// Logarithms of precisions, and what stands below the diagonal of their factors.
    Variances,
    /// Logits of mixture components.
    Mixtures,
}

/// How many of what a model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HmmShape {
    /// The task.
    pub task: Task,
    /// The topology.
    pub topology: Topology,
    /// Classes or labels.
    pub units: usize,
    /// States of a unit.
    pub states: usize,
    /// Gaussians of a state.
    pub mixtures: usize,
    /// Numbers in a frame.
    pub features: usize,
    /// What the Gaussians know of how features go together.
    pub covariance: Covariance,
}

/// Alternatives whose probabilities add up to 1: one weight is the logit of each slot, and the
/// last slot's logit is 0 where it has no weight.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// The weights.
    pub(super) weights: Range<usize>,
    /// Where the probabilities go.
    pub(super) slots: Vec<usize>,
}

/// Where the logarithms of probabilities lie: arcs into a unit's states from outside, arcs within
/// units, arcs out of them, first units, units after units, and mixture components.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    shape: HmmShape,
}

impl Slots {
    pub(super) fn entry(&self, state: usize) -> usize {
        state
    }

    /// From a state to the `to`-th of its unit.
    pub(super) fn inner(&self, from: usize, to: usize) -> usize {
        self.shape.all_states() * (1 + from % self.shape.states)
            + from / self.shape.states * self.shape.states
            + to
    }

    pub(super) fn exit(&self, state: usize) -> usize {
        self.shape.all_states() * (1 + self.shape.states) + state
    }

    pub(super) fn begin(&self, unit: usize) -> usize {
        self.shape.all_states() * (2 + self.shape.states) + unit
    }

    pub(super) fn switch(&self, from: usize, to: usize) -> usize {
        self.begin(self.shape.units) + from * self.shape.units + to
    }

    pub(super) fn mixture(&self, gaussian: usize) -> usize {
        self.switch(self.shape.units, 0) + gaussian
    }

    pub(super) fn len(&self) -> usize {
        self.mixture(self.shape.gaussians())
    }
}

impl HmmShape {
    /// States of all units.
    pub fn all_states(&self) -> usize {
        self.units * self.states
    }

    /// Gaussians of all states.
    pub fn gaussians(&self) -> usize {
        self.all_states() * self.mixtures
    }

    /// Logits of one unit's arcs.
    fn unit_arcs(&self) -> usize {
        let q = self.states;
        match (self.task, self.topology) {
            (Task::Classify, Topology::LeftRight) => q,
            (Task::Classify, Topology::Ergodic) => q + q * q,
            (Task::Label, Topology::LeftRight) => q + 3 * q - 1,
            (Task::Label, Topology::Ergodic) => q + q * (q + 1),
        }
    }

    /// Weights below the diagonal of a Gaussian's factor.
    pub(super) fn pairs(&self) -> usize {
        match self.covariance {
            Covariance::Diagonal => 0,
            Covariance::Full => self.features * (self.features - 1) / 2,
        }
    }

    /// Weights of one unit.
    fn unit_weights(&self) -> usize {
        let gaussians = self.states * self.mixtures;
        gaussians * (2 * self.features + self.pairs() + 1) + self.unit_arcs()
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        let between = match self.task {
            Task::Classify => 0,
            Task::Label => self.units + self.units * self.units,
        };
        self.units * self.unit_weights() + between
    }

    /// Where the means of a Gaussian lie; Gaussians are numbered state by state.
    pub fn means(&self, gaussian: usize) -> Range<usize> {
        let each = self.states * self.mixtures;
        let first = gaussian / each * self.unit_weights() + gaussian % each * self.features;
        first..first + self.features
    }

    /// Where the logarithms of its precisions lie.
    pub fn log_precisions(&self, gaussian: usize) -> Range<usize> {
        let after = self.states * self.mixtures * self.features;
        let means = self.means(gaussian);
        means.start + after..means.end + after
    }

    /// Where the weights below the diagonal of its factor lie, row by row; none where it is diagonal.
    pub fn factor(&self, gaussian: usize) -> Range<usize> {
        let each = self.states * self.mixtures;
        let of_unit = gaussian / each * self.unit_weights() + 2 * each * self.features;
        let first = of_unit + gaussian % each * self.pairs();
        first..first + self.pairs()
    }

    /// The kind of each weight.
    pub fn groups(&self) -> Vec<Group> {
        let gaussians = self.states * self.mixtures;
        let mut groups = Vec::with_capacity(self.dim());
        for _ in 0..self.units {
            let of_unit = [
                (Group::Means, gaussians * self.features),
                (Group::Variances, gaussians * (self.features + self.pairs())),
                (Group::Mixtures, gaussians),
                (Group::Transitions, self.unit_arcs()),
            ];
            for (group, count) in of_unit {
                groups.extend(std::iter::repeat_n(group, count));
            }
        }
        groups.resize(self.dim(), Group::Transitions);
        groups
    }

    pub(super) fn slots(&self) -> Slots {
        Slots { shape: *self }
    }

    /// All choices.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let (slots, q, m) = (self.slots(), self.states, self.mixtures);
        let mut choices = Vec::new();
        let mut next = 0;
        let mut add = |next: &mut usize, weights: usize, slots: Vec<usize>| {
            choices.push(Choice { weights: *next..*next + weights, slots });
            *next += weights;
        };
        for unit in 0..self.units {
            next += q * m * (2 * self.features + self.pairs());
            for state in unit * q..(unit + 1) * q {
                add(&mut next, m, (state * m..(state + 1) * m).map(|g| slots.mixture(g)).collect());
            }
            let states = unit * q..(unit + 1) * q;
            let has_entries = (self.task, self.topology) != (Task::Classify, Topology::LeftRight);
            if has_entries {
                add(&mut next, q, states.clone().map(|state| slots.entry(state)).collect());
            }
            for (at, state) in states.enumerate() {
                let is_last = at + 1 == q;
                let arcs: Vec<usize> = match (self.task, self.topology) {
                    (Task::Classify, Topology::LeftRight) => {
                        let on =
                            if is_last { slots.exit(state) } else { slots.inner(state, at + 1) };
                        // One logit, of staying.
                        add(&mut next, 1, vec![slots.inner(state, at), on]);
                        continue;
                    }
                    (Task::Label, Topology::LeftRight) => {
                        let last = if is_last { at } else { at + 1 };
                        let inner = (at..=last).map(|to| slots.inner(state, to));
                        inner.chain([slots.exit(state)]).collect()
                    }
                    (_, Topology::Ergodic) => {
                        let inner = (0..q).map(|to| slots.inner(state, to));
                        let exit = (self.task == Task::Label).then(|| slots.exit(state));
                        inner.chain(exit).collect()
                    }
                };
                add(&mut next, arcs.len(), arcs);
            }
        }
        if self.task == Task::Label {
            let all = 0..self.units;
            add(&mut next, self.units, all.clone().map(|unit| slots.begin(unit)).collect());
            for from in all.clone() {
                let to = all.clone().map(|to| slots.switch(from, to)).collect();
                add(&mut next, self.units, to);
            }
        }
        debug_assert_eq!(next, self.dim());
        choices
    }

    /// Slots whose probability is 1 whatever the weights are.
    pub(super) fn certain(&self) -> Vec<usize> {
        if self.task == Task::Label {
            return Vec::new();
        }
        let slots = self.slots();
        let mut certain: Vec<usize> = (0..self.units).map(|unit| slots.begin(unit)).collect();
        match self.topology {
            Topology::LeftRight => {
                certain.extend((0..self.units).map(|unit| slots.entry(unit * self.states)));
            }
            Topology::Ergodic => {
                certain.extend((0..self.all_states()).map(|state| slots.exit(state)));
            }
        }
        certain
    }

    /// The logarithm of the probability that a path of `length` frames may end in the `at`-th
    /// state of its unit. One that is too short to reach the last state ends where it gets to.
    pub(super) fn may_end(&self, at: usize, length: usize) -> End {
        match (self.task, self.topology) {
            (Task::Label, _) => End::Free,
            (Task::Classify, Topology::Ergodic) => End::Exit,
            (Task::Classify, Topology::LeftRight) if length >= self.states => End::Exit,
            (Task::Classify, Topology::LeftRight) if at + 1 == length => End::Free,
            (Task::Classify, Topology::LeftRight) => End::Never,
        }
    }
}

/// How a path may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Through the arc out of its unit.
    Exit,
    /// At no cost.
    Free,
    /// Not here.
    Never,
}
