//! What the methods share: the problem, one inner problem a component, the count of their solves,
//! and the best machine seen.

use crate::archive::{Archive, ArchiveError};
use crate::kernel::Gram;
use crate::s3vm::{Answer, Inner, Stop};
use crate::solver::Status;

/// The latent problem: ½ Σ_k ‖w_k‖² + C⁻ Σ_neg Σ_k hinge(−h_k) + C⁺ Σ_pos min_k hinge(h_k).
#[derive(Debug, Clone)]
pub struct LatentProblem<'g> {
    /// The kernel matrix of all rows.
    pub gram: &'g Gram<'g>,
    /// Which rows are positive.
    pub positive: Vec<bool>,
    /// Number of components K.
    pub components: usize,
    /// What a positive row's loss counts.
    pub c_pos: f64,
    /// What a negative row's loss counts, for each component.
    pub c_neg: f64,
    /// The positive rows.
    pub rows: Vec<usize>,
}

impl<'g> LatentProblem<'g> {
    /// The problem on these rows.
    pub fn new(
        gram: &'g Gram<'g>,
        positive: Vec<bool>,
        components: usize,
        c_pos: f64,
        c_neg: f64,
    ) -> Self {
        let rows = (0..positive.len()).filter(|&i| positive[i]).collect();
        LatentProblem { gram, positive, components, c_pos, c_neg, rows }
    }

    /// What losses on the positive and on the negative side count for a component, where it has been
    /// chosen by these rows.
    pub(super) fn weights(&self, k: usize, chosen: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let mut plus = vec![0.0; self.positive.len()];
        for (&i, &component) in self.rows.iter().zip(chosen) {
            plus[i] = if component as usize == k { self.c_pos } else { 0.0 };
        }
        let minus = self.positive.iter().map(|p| if *p { 0.0 } else { self.c_neg }).collect();
        (plus, minus)
    }

    /// Losses where component k decides `decision(k, i)` on row i, and the component that suits
    /// each positive row best; ties go to the first.
    pub fn loss(&self, decision: impl Fn(usize, usize) -> f64) -> (f64, Vec<u32>) {
        let mut loss = 0.0;
        let mut chosen = Vec::with_capacity(self.rows.len());
        for (i, &positive) in self.positive.iter().enumerate() {
            if positive {
                let best = (1..self.components)
                    .fold(0, |best, k| if decision(k, i) > decision(best, i) { k } else { best });
                chosen.push(best as u32);
                loss += self.c_pos * (1.0 - decision(best, i)).max(0.0);
            } else {
                let of = |k: usize| (1.0 + decision(k, i)).max(0.0);
                loss += self.c_neg * (0..self.components).map(of).sum::<f64>();
            }
        }
        (loss, chosen)
    }
}

/// A component's decision function.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Coefficients of the rows.
    pub beta: Vec<f64>,
    /// The offset.
    pub bias: f64,
}

/// A machine with its objective.
#[derive(Debug, Clone)]
pub struct Solution {
    /// Its components.
    pub components: Vec<Component>,
    /// ½ Σ ‖w_k‖².
    pub regularizer: f64,
    /// The losses.
    pub risk: f64,
    /// The component that each positive row has chosen.
    pub chosen: Vec<u32>,
    /// Objective less the bound for this choice: no bound on the whole problem.
    pub local_gap: f64,
}

impl Solution {
    /// ½ Σ ‖w_k‖² plus losses.
    pub fn objective(&self) -> f64 {
        self.regularizer + self.risk
    }

    /// Takes a saved one up, for this problem.
    pub(super) fn load(
        archive: &mut Archive,
        problem: &LatentProblem<'_>,
    ) -> Result<Self, ArchiveError> {
        let (rows, components) = (problem.positive.len(), problem.components);
        let betas = archive.take_finite("betas", rows.saturating_mul(components))?;
        let biases = archive.take_finite("biases", components)?;
        let chosen = archive.take_up_to("chosen", problem.rows.len(), components as u64 - 1)?;
        let numbers = archive.take_finite("numbers", 2)?;
        let component = |(beta, bias): (&[f64], f64)| Component { beta: beta.to_vec(), bias };
        Ok(Solution {
            components: betas.chunks(rows).zip(biases).map(component).collect(),
            regularizer: numbers[0],
            risk: numbers[1],
            chosen: chosen.into_iter().map(|k| k as u32).collect(),
            local_gap: f64::INFINITY,
        })
    }
}

impl Answer for Solution {
    fn objective(&self) -> f64 {
        self.objective()
    }

    fn save(&self, archive: &mut Archive) {
        let betas = self.components.iter().flat_map(|component| component.beta.iter().copied());
        archive.put_reals("betas", betas.collect());
        archive
            .put_reals("biases", self.components.iter().map(|component| component.bias).collect());
        archive.put_integers("chosen", self.chosen.iter().map(|k| u64::from(*k)));
        archive.put_reals("numbers", vec![self.regularizer, self.risk]);
    }
}

/// Solves inner problems for a method, no more than the method may solve.
#[derive(Debug)]
pub(super) struct Worker<'p> {
    pub(super) problem: &'p LatentProblem<'p>,
    pub(super) inners: Vec<Inner<'p>>,
    stop: &'p Stop,
    pub(super) spent: u64,
    pub(super) limit: u64,
    pub(super) tol: f64,
    pub(super) best: Option<Solution>,
}

impl<'p> Worker<'p> {
    pub(super) fn new(
        problem: &'p LatentProblem<'p>,
        stop: &'p Stop,
        limit: u64,
        tol: f64,
    ) -> Self {
        let inners =
            (0..problem.components).map(|_| Inner::new(problem.gram).stopped_by(stop)).collect();
        Worker { problem, inners, stop, spent: 0, limit, tol, best: None }
    }

    /// An error where work is to stop.
    pub(super) fn check(&self) -> Result<(), Status> {
        if self.best.is_some() { self.stop.check() } else { Ok(()) }
    }

    /// Solves one component's inner problem for the rows that are its: one inner optimisation.
    pub(super) fn solve_component(&mut self, k: usize, chosen: &[u32]) -> Result<(), Status> {
        self.solve_component_from(k, chosen, None)
    }

    /// Solves one component's inner problem from these coefficients, if there are any. Where there is
    /// no machine yet it is part of an answer as far as it gets.
    pub(super) fn solve_component_from(
        &mut self,
        k: usize,
        chosen: &[u32],
        start: Option<&[f64]>,
    ) -> Result<(), Status> {
        self.check()?;
        if self.spent >= self.limit {
            return Err(Status::MaxEvals);
        }
        self.spent += 1;
        let (plus, minus) = self.problem.weights(k, chosen);
        let inner = &mut self.inners[k];
        inner.set_weights(&plus, &minus);
        if let Some(beta) = start {
            inner.start_at(beta);
            if inner.is_cut() {
                return self.stop.check();
            }
        }
        inner.solve(self.tol);
        if inner.is_cut() { self.check() } else { Ok(()) }
    }

    /// Solves all components' inner problems, or those whose rows have changed.
    pub(super) fn solve(&mut self, chosen: &[u32], before: Option<&[u32]>) -> Result<(), Status> {
        for k in 0..self.problem.components {
            let is_same = |before: &[u32]| {
                let has = |component: &u32| *component as usize == k;
                before.iter().zip(chosen).all(|(a, b)| has(a) == has(b))
            };
            if !before.is_some_and(is_same) {
                self.solve_component(k, chosen)?;
            }
        }
        Ok(())
    }

    /// The objective of the components as they are and the choice that suits them; the best machine
    /// is kept.
    pub(super) fn objective(&mut self) -> (f64, Vec<u32>) {
        let (risk, chosen) = self.problem.loss(|k, i| self.inners[k].decision(i));
        let regularizer = self.inners.iter().map(|inner| 0.5 * inner.square()).sum::<f64>();
        let objective = regularizer + risk;
        if self.best.as_ref().is_none_or(|best| objective < best.objective()) {
            let component =
                |inner: &Inner<'_>| Component { beta: inner.beta().to_vec(), bias: inner.bias() };
            self.best = Some(Solution {
                components: self.inners.iter().map(component).collect(),
                regularizer,
                risk,
                chosen: chosen.clone(),
                local_gap: f64::INFINITY,
            });
        }
        (objective, chosen)
    }
}
