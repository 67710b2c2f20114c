//! The state of a master as plain numbers, for checkpoints. A restored master goes on with the
//! same bits; how the numbers are written is for others to choose.

use minorant_linalg::cholesky::GrowingCholesky;

use super::Master;
use super::support::{OUTSIDE, Support};

/// Everything a [`Master`] needs to go on with the same bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MasterState {
    /// The number of parts.
    pub parts: usize,
    /// The part of each plane.
    pub part_of: Vec<u64>,
    /// The weight of each plane.
    pub weights: Vec<f64>,
    /// The planes of the support, in the order of the factor.
    pub support: Vec<u64>,
    /// The numbers of the factor, which depend on the order in which planes came and went.
    pub factor: Vec<f64>,
    /// What the factor adds to the products of planes of one part.
    pub shift: f64,
    /// How many updates the factor has seen.
    pub updates: usize,
    /// 1 if the factor must be computed afresh, else 0.
    pub stale: usize,
}

impl Master {
    /// All that the next solve depends on.
    pub fn snapshot(&self) -> MasterState {
        let support = &self.support;
        MasterState {
            parts: self.parts,
            part_of: self.part_of.iter().map(|&part| part as u64).collect(),
            weights: self.weights.clone(),
            support: support.members.iter().map(|&plane| plane as u64).collect(),
            factor: if support.stale { Vec::new() } else { support.factor.numbers() },
            shift: support.shift,
            updates: support.updates,
            stale: usize::from(support.stale),
        }
    }

    /// The master whose snapshot is given. If the numbers do not fit together, the factor is
    /// computed afresh by the next solve.
    pub fn restore(state: MasterState) -> Master {
        let part_of: Vec<usize> = state.part_of.iter().map(|&part| part as usize).collect();
        let needed = part_of.iter().max().map_or(0, |&part| part + 1);
        let mut master = Master::new(state.parts.max(needed));
        for &part in &part_of {
            master.push(part);
        }
        if state.weights.len() == master.weights.len() {
            master.weights = state.weights;
        }
        if state.stale == 0 {
            let members: Vec<usize> = state.support.iter().map(|&plane| plane as usize).collect();
            master.support.restore(&members, &state.factor, &part_of);
        }
        master.support.shift = state.shift;
        master.support.updates = state.updates;
        master
    }
}

impl Support {
    /// Takes over a factor; stays stale if the numbers do not fit.
    fn restore(&mut self, members: &[usize], numbers: &[f64], part_of: &[usize]) {
        let columns = self.factor.columns();
        let Some(factor) = GrowingCholesky::from_numbers(members.len(), columns, numbers) else {
            return;
        };
        for (position, &plane) in members.iter().enumerate() {
            if self.position.get(plane) != Some(&OUTSIDE) {
                return; // A stale support clears what was set so far.
            }
            self.position[plane] = position;
            self.count[part_of[plane]] += 1;
        }
        self.members = members.to_vec();
        self.factor = factor;
        self.stale = false;
    }
}
