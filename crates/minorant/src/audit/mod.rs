//! The audit: checks a model's certificate against the data by code of its own. It shares no
//! kernel, loss, bundle, regularizer or bound with training: losses and argmaxes are written out
//! again in their plainest form (`linear.rs` with `residual.rs` for targets, `chain.rs`, `image.rs`), and the
//! bound is summed up from the proof (`bound.rs`). Of training it takes only how weights are laid out.
//!
//! A proof gives points w_j and, for each part (a contiguous block of examples), weights α_j on a
//! simplex; for examples that lie on a kink at w_j it also names the piece of the loss, which is a
//! minorant of the loss whichever it is. Each example's loss lies above its tangents at the w_j;
//! with the weights the tangents add up to one minorant of the whole risk, whose minimum together
//! with the regularizer is known in closed form. That minimum is the bound. A proof may also give
//! the slopes of one minorant for each example outright (how high it may lie follows from the
//! loss), or outputs of each example with weights.

mod bound;
pub mod chain;
pub mod image;
pub mod linear;
pub mod residual;

pub use bound::Minorant;

use crate::proof::{Piece, Proof};
use minorant_linalg::elementary;
use minorant_linalg::parallel;
use minorant_linalg::sum::Sum;
use std::fmt::Debug;

/// What an audit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Whether everything that the model claims was confirmed; nothing where there is no bound to
    /// check.
    pub holds: Option<bool>,
    /// The objective at the model's weights, recomputed.
    pub objective: Option<f64>,
    /// The lower bound, recomputed from the proof.
    pub lower_bound: Option<f64>,
    /// In one sentence, why it holds or does not.
    pub why: String,
}

/// Why there is nothing to check where a model came without its proof.
pub const NO_PROOF: &str = "not auditable: the model carries no proof of its bound";

/// How far a recomputed number may lie from the claimed one, relative to the objective.
const AGREEMENT: f64 = 1e-9;
/// A recomputed bound counts only if its own rounding errors are below this share of the objective,
/// or of the bound where that lies far below; a proof with larger ones could hide a false bound in
/// them.
const RESOLUTION: f64 = 1e-7;
/// How far a sum in twice the working precision, of losses that are rounded a few times each, may be off:
/// exponentials and logarithms by ε, 2.2e-16.
const EXACT: f64 = 1e-14;
/// How far the weights of a part may add up to something else than 1.
const SIMPLEX: f64 = 1e-12;
/// Why a proof is refused whose ties are not those of the loss.
const NO_PIECE: &str = "a tie of the proof names a piece that the loss does not have";

/// What a proof says of one example's loss: something that lies below it.
#[derive(Debug, Clone, Copy)]
pub enum Below<'p> {
    /// The tangent at these weights.
    Tangent(&'p [f64]),
    /// A piece of the loss, named where the example lies on a kink.
    Piece(Piece),
    /// The highest minorant with these slopes, one an output.
    Slopes(&'p [f64]),
    /// What an output of the example, in numbers, says of the loss.
    Output(&'p [u32]),
}

/// The losses of a model's examples in their plainest form.
pub trait PlainLoss: Sync + Debug {
    /// The loss of an example.
    fn value(&self, example: usize, w: &[f64]) -> f64;

    /// How far computed losses are off, relative to their size and whatever the sizes of features are;
    /// nothing where it depends on those.
    fn rounding(&self) -> Option<f64> {
        None
    }

    /// Adds what lies below an example's loss, each with its share, to a minorant. What the family's
    /// proofs do not have is refused.
    fn add(
        &self,
        example: usize,
        below: &[(Below<'_>, f64)],
        minorant: &mut Minorant,
    ) -> Result<(), String>;
}

impl Below<'_> {
    /// The refusal of a proof that the family does not have.
    fn refusal(self) -> String {
        let by = match self {
            Below::Tangent(_) => "points",
            Below::Piece(_) => return NO_PIECE.into(),
            Below::Slopes(_) => "slopes",
            Below::Output(_) => "outputs",
        };
        format!("a model of this family has no proof by {by}")
    }
}

/// How weights are penalised, in its plainest form: λ/2 ‖θ ∘ w‖² + λ₁‖w‖₁, within bounds on single weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty {
    /// λ; 0 where there is no quadratic.
    pub quadratic: f64,
    /// λ₁; 0 where there are no absolute weights.
    pub absolute: f64,
    /// θ of each weight, where it is not 1.
    pub theta: Option<Vec<f64>>,
    /// The least and the greatest value of each weight, where they are bounded.
    pub ranges: Option<Vec<(f64, f64)>>,
}

impl Penalty {
    /// λ/2 ‖w‖².
    pub fn of(quadratic: f64) -> Self {
        Penalty { quadratic, absolute: 0.0, theta: None, ranges: None }
    }

    /// λ (r ‖w‖₁ + (1 − r)/2 ‖w‖²).
    pub fn mixed(lambda: f64, ratio: f64) -> Self {
        Penalty { absolute: lambda * ratio, ..Penalty::of(lambda * (1.0 - ratio)) }
    }

    fn theta2(&self, at: usize) -> f64 {
        self.theta.as_ref().map_or(1.0, |theta| theta[at] * theta[at])
    }

    fn range(&self, at: usize) -> (f64, f64) {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        self.ranges.as_ref().map_or(all, |ranges| ranges[at])
    }

    /// Ω(w); infinite where a bound is not kept.
    fn value(&self, w: &[f64]) -> f64 {
        let (mut square, mut sizes) = (Sum::new(), Sum::new());
        for (at, w) in w.iter().enumerate() {
            let (least, greatest) = self.range(at);
            if !(least <= *w && *w <= greatest) {
                return f64::INFINITY;
            }
            square.add_product(self.theta2(at) * w, *w);
            sizes.add(w.abs());
        }
        0.5 * self.quadratic * square.value() + self.absolute * sizes.value()
    }

    /// The least value over a weight w of the penalty plus `slope` w, and the w where it is reached.
    fn least(&self, at: usize, slope: f64) -> (f64, f64) {
        let (lowest, highest) = self.range(at);
        let curvature = self.quadratic * self.theta2(at);
        // Where the slope is weaker than λ₁ the weight stays at 0, or at the bound that is nearest.
        let pull = (slope.abs() - self.absolute).max(0.0);
        let free = match (pull > 0.0, curvature > 0.0) {
            (false, _) => 0.0,
            (true, true) => -pull.copysign(slope) / curvature,
            (true, false) => -f64::INFINITY.copysign(slope),
        };
        let w = free.clamp(lowest, highest);
        if w == 0.0 {
            return (0.0, 0.0);
        }
        (w * (0.5 * curvature * w + slope) + self.absolute * w.abs(), w)
    }
}

/// One of the problems that were solved for a model.
#[derive(Debug)]
pub struct Plain<'a> {
    /// The losses of its examples.
    pub losses: Box<dyn PlainLoss + 'a>,
    /// What the loss of each example counts.
    pub shares: Vec<f64>,
    /// How weights are penalised.
    pub penalty: Penalty,
    /// The model's weights.
    pub w: &'a [f64],
    /// Coordinates behind the weights that are not penalised: an intercept of each output. The slopes of
    /// a proof add up to 0 there.
    pub free: usize,
    /// What the model claims of the problem.
    pub claim: Claim,
}

/// What a model claims of a problem, or over all its problems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The objective.
    pub objective: f64,
    /// The bound.
    pub lower_bound: Option<f64>,
}

/// Checks the problems of a model, each with its proof, and that their sums are what the model
/// claims as a whole. Objectives are claimed with an allowance for rounding.
pub fn check(
    total: Claim,
    rounding: f64,
    problems: &[Plain<'_>],
    proofs: &[Option<Proof>],
) -> Audit {
    let mut audit = nothing_to_check("");
    let checked = check_all(total, rounding, problems, proofs, &mut audit);
    audit.holds = Some(checked.is_ok());
    let bound = audit.lower_bound.unwrap_or(f64::NEG_INFINITY);
    audit.why = checked.err().unwrap_or_else(|| {
        format!(
            "the proof was recomputed from the data: no weights reach an objective below {bound}"
        )
    });
    audit
}

/// What an audit will find of a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Foreseen {
    /// The objective, rounded up, where losses are computed to their last digits.
    pub objective: Option<f64>,
    /// The bound that the proof gives, rounding taken off.
    pub lower_bound: f64,
}

/// What an audit will find of each problem.
pub fn foresee(problems: &[Plain<'_>], proofs: &[Option<Proof>]) -> Result<Vec<Foreseen>, String> {
    let found = |(problem, proof): (&Plain<'_>, &Option<Proof>)| {
        let found = bound::of_proof(problem, proof.as_ref().ok_or(NO_PROOF)?)?;
        let rounding = problem.losses.rounding();
        let objective = rounding.map(|rounding| problem.recompute() * (1.0 + rounding));
        Ok(Foreseen { objective, lower_bound: found.bound - found.rounding })
    };
    problems.iter().zip(proofs).map(found).collect()
}

/// An audit that finds nothing to check, and why.
pub fn nothing_to_check(why: impl Into<String>) -> Audit {
    Audit { holds: None, objective: None, lower_bound: None, why: why.into() }
}

/// An audit that fails before anything could be computed.
pub fn refused(why: impl Into<String>) -> Audit {
    Audit { holds: Some(false), ..nothing_to_check(why) }
}

fn check_all(
    total: Claim,
    rounding: f64,
    problems: &[Plain<'_>],
    proofs: &[Option<Proof>],
    audit: &mut Audit,
) -> Result<(), String> {
    let (mut objective, mut bound) = (Sum::new(), Sum::new());
    // What the problems' certificates, each of which is checked, claim together.
    let mut claims = [Sum::new(), Sum::new()];
    for (problem, proof) in problems.iter().zip(proofs) {
        let found = problem.recompute();
        objective.add(found);
        audit.objective = Some(objective.value());
        agrees(problem.claim.objective, found, rounding)?;
        let proof = proof.as_ref().ok_or(NO_PROOF)?;
        let proven = bound::of_proof(problem, proof)?;
        // What is printed is proven: rounding is taken off.
        bound.add(proven.bound - proven.rounding);
        audit.lower_bound = Some(bound.value());
        let judged = judge(problem.claim, proven.bound, proven.rounding);
        judged.map_err(|why| proven.doubt.map_or(why, Into::into))?;
        claims[0].add(problem.claim.objective);
        claims[1].add(problem.claim.lower_bound.unwrap_or(f64::NAN));
    }
    let [objective, bound] = claims.map(|claim| claim.value());
    let near = |claimed: f64, sum: f64| {
        within((claimed - sum).abs(), RESOLUTION * (objective.abs() + sum.abs()))
    };
    if !near(total.objective, objective) || !total.lower_bound.is_some_and(|b| near(b, bound)) {
        return Err(format!(
            "expected the model to claim the objective {objective} and the bound {bound}, the sums over its \
             problems, found {} and {}",
            total.objective,
            total.lower_bound.map_or_else(|| "none".into(), |bound| bound.to_string())
        ));
    }
    Ok(())
}

impl Plain<'_> {
    /// The objective at the model's weights.
    fn recompute(&self) -> f64 {
        let of = |example: usize| self.shares[example] * self.losses.value(example, self.w);
        let mut sum: Sum = parallel::map(self.shares.len(), of).into_iter().collect();
        sum.add(self.penalty.value(self.w));
        sum.value()
    }
}

/// Whether the objective at a model's weights is the one that it states. Training rounds objectives up
/// by what rounding may have taken from them, and states by how much.
fn agrees(claimed: f64, found: f64, stated: f64) -> Result<(), String> {
    // What was computed may itself lie above by as much.
    let above = AGREEMENT * found.abs() + 2.0 * stated * (1.0 + RESOLUTION);
    if within(found - claimed, AGREEMENT * found.abs()) && within(claimed - found, above) {
        return Ok(());
    }
    Err(format!("the objective at the model's weights is {found}, not {claimed} as the model says"))
}

/// Whether a bound that was found again, up to a rounding error, is as high as a model claims.
fn judge(claim: Claim, bound: f64, rounding: f64) -> Result<(), String> {
    let (objective, claimed) =
        (claim.objective, claim.lower_bound.ok_or("the model claims no lower bound")?);
    // A claim that is no higher than what is proven is honest, however cautious it is.
    if !within(claimed, bound - rounding) {
        if !within(rounding, RESOLUTION * objective.abs().max(bound.abs())) {
            let why = "the proof's numbers are too large to be checked in double precision";
            return Err(why.into());
        }
        // Planes were made at outputs that were rounded otherwise than here.
        if !within(claimed - bound, AGREEMENT * bound.abs() + rounding) {
            return Err(format!(
                "the proof gives a lower bound of {bound}, not {claimed} as the model says"
            ));
        }
    }
    if claimed > objective + AGREEMENT * objective.abs() {
        return Err(format!("the bound {claimed} lies above the objective {objective}"));
    }
    Ok(())
}

/// Whether a distance keeps within a limit; one that is not a number does not.
fn within(distance: f64, limit: f64) -> bool {
    distance <= limit
}

/// −q log q.
fn entropy(q: f64) -> f64 {
    if q > 0.0 { -q * elementary::ln(q) } else { 0.0 }
}

/// The entropy of 1 − q, also where q is next to nothing.
fn entropy_of_rest(q: f64) -> f64 {
    if q < 1.0 { -(1.0 - q) * elementary::ln_1p(-q) } else { 0.0 }
}

/// sᵢ / Σ sᵢ uᵢ for examples of so many units each, which weigh 1 unless weights are given.
pub fn mean_shares(example_weights: Option<&[f64]>, units: &[usize]) -> Result<Vec<f64>, String> {
    let weights = example_weights.map_or_else(|| vec![1.0; units.len()], <[f64]>::to_vec);
    if weights.len() != units.len() || weights.iter().any(|s| !(*s >= 0.0 && s.is_finite())) {
        let examples = units.len();
        return Err(format!("expected {examples} example weights of 0 or more, one an example"));
    }
    let total: Sum = weights.iter().zip(units).map(|(s, u)| s * *u as f64).collect();
    Ok(weights.iter().map(|s| s / total.value()).collect())
}
