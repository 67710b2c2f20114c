//! What the methods share: the problem, one inner problem a component, the count of their solves,
//! and the best machine seen.

use crate::archive::{Archive, ArchiveError};
use crate::kernel::Gram;
use crate::s3vm::{Answer, Inner, Stop};
use crate::solver::Status;

/// The latent problem: ½ Σ_k ‖w_k‖² + C⁻ Σ_neg Σ_k hinge(−h_k) + C⁺ Σ_pos min_k hinge(h_k).
#[derive(Debug, Clone)]
pub struct Problem<'g> {
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

impl<'g> Problem<'g> {
    /// The problem on these rows.
    pub fn new(
        gram: &'g Gram<'g>,
        positive: Vec<bool>,
        components: usize,
        c_pos: f64,
        c_neg: f64,
    ) -> Self {
        let rows = (0..positive.len()).filter(|&i| positive[i]).collect();
        Problem { gram, positive, components, c_pos, c_neg, rows }
    }

    /// Losses where component k decides `decision(k, i)` on row i, and the component that suits
    /// each positive row best; ties go to the first.
    pub fn loss(&self, decision: impl Fn(usize, usize) -> f64) -> (f64, Vec<u32>) {
        let mut loss = 0.0;
        let mut assignment = Vec::with_capacity(self.rows.len());
        for (i, &positive) in self.positive.iter().enumerate() {
            if positive {
                let best = (1..self.components)
                    .fold(0, |best, k| if decision(k, i) > decision(best, i) { k } else { best });
                assignment.push(best as u32);
                loss += self.c_pos * (1.0 - decision(best, i)).max(0.0);
            } else {
                let of = |k: usize| (1.0 + decision(k, i)).max(0.0);
                loss += self.c_neg * (0..self.components).map(of).sum::<f64>();
            }
        }
        (loss, assignment)
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
    /// The component of each positive row.
    pub assignment: Vec<u32>,
    /// Objective less the bound for this assignment: no bound on the whole problem.
    pub local_gap: f64,
}

impl Solution {
    /// ½ Σ ‖w_k‖² plus losses.
    pub fn objective(&self) -> f64 {
        self.regularizer + self.risk
    }

    /// Takes a saved one up, for this problem.
    pub(super) fn load(archive: &mut Archive, problem: &Problem<'_>) -> Result<Self, ArchiveError> {
        let (rows, components) = (problem.positive.len(), problem.components);
        let betas = archive.take_finite("betas", rows.saturating_mul(components))?;
        let biases = archive.take_finite("biases", components)?;
        let assignment = archive.take_up_to("parts", problem.rows.len(), components as u64 - 1)?;
        let numbers = archive.take_finite("numbers", 2)?;
        let component = |(beta, bias): (&[f64], f64)| Component { beta: beta.to_vec(), bias };
        Ok(Solution {
            components: betas.chunks(rows).zip(biases).map(component).collect(),
            regularizer: numbers[0],
            risk: numbers[1],
            assignment: assignment.into_iter().map(|component| component as u32).collect(),
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
        archive
            .put_integers("parts", self.assignment.iter().map(|component| u64::from(*component)));
        archive.put_reals("numbers", vec![self.regularizer, self.risk]);
    }
}

/// Somebody who solves inner problems within a number of them.
#[derive(Debug)]
pub(super) struct Worker<'p> {
    pub(super) problem: &'p Problem<'p>,
    pub(super) inners: Vec<Inner<'p>>,
    stop: &'p Stop,
    pub(super) spent: u64,
    pub(super) limit: u64,
    pub(super) tol: f64,
    pub(super) best: Option<Solution>,
}

impl<'p> Worker<'p> {
    pub(super) fn new(problem: &'p Problem<'p>, stop: &'p Stop, limit: u64, tol: f64) -> Self {
        let inners = (0..problem.components).map(|_| Inner::new(problem.gram)).collect();
        Worker { problem, inners, stop, spent: 0, limit, tol, best: None }
    }

    /// An error where work is to stop.
    pub(super) fn check(&self) -> Result<(), Status> {
        if self.best.is_some() { self.stop.check() } else { Ok(()) }
    }

    /// Solves one component's inner problem for the rows that are its: one inner optimisation.
    pub(super) fn solve_component(&mut self, k: usize, assignment: &[u32]) -> Result<(), Status> {
        self.check()?;
        if self.spent >= self.limit {
            return Err(Status::MaxEvals);
        }
        self.spent += 1;
        let problem = self.problem;
        let mut plus = vec![0.0; problem.positive.len()];
        for (&i, &component) in problem.rows.iter().zip(assignment) {
            plus[i] = if component as usize == k { problem.c_pos } else { 0.0 };
        }
        let minus: Vec<f64> =
            problem.positive.iter().map(|p| if *p { 0.0 } else { problem.c_neg }).collect();
        self.inners[k].set_weights(&plus, &minus);
        self.inners[k].solve(self.tol);
        Ok(())
    }

    /// Solves all components' inner problems, or those whose rows have changed.
    pub(super) fn solve(
        &mut self,
        assignment: &[u32],
        before: Option<&[u32]>,
    ) -> Result<(), Status> {
        for k in 0..self.problem.components {
            let is_same = |before: &[u32]| {
                let has = |component: &u32| *component as usize == k;
                before.iter().zip(assignment).all(|(a, b)| has(a) == has(b))
            };
            if !before.is_some_and(is_same) {
                self.solve_component(k, assignment)?;
            }
        }
        Ok(())
    }

    /// The objective of the components as they are and the assignment that suit them; the best machine
    /// is kept.
    pub(super) fn objective(&mut self) -> (f64, Vec<u32>) {
        let (risk, assignment) = self.problem.loss(|k, i| self.inners[k].decision(i));
        let regularizer = self.inners.iter().map(|inner| 0.5 * inner.square()).sum::<f64>();
        let objective = regularizer + risk;
        if self.best.as_ref().is_none_or(|best| objective < best.objective()) {
            let component =
                |inner: &Inner<'_>| Component { beta: inner.beta().to_vec(), bias: inner.bias() };
            self.best = Some(Solution {
                components: self.inners.iter().map(component).collect(),
                regularizer,
                risk,
                assignment: assignment.clone(),
                local_gap: f64::INFINITY,
            });
        }
        (objective, assignment)
    }
}
