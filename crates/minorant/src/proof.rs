//! Proofs: the dual point behind a bound in a form that anybody who has the data can check without
//! trusting whoever found it. Nothing here looks at data; `audit` does.

use crate::archive::{Archive, ArchiveError};
pub use crate::risk::{Piece, Tie};
use std::sync::Arc;

/// One share of a proof by points: a point at which the risk is linearised, and the weight of each
/// part's plane there.
#[derive(Debug, Clone)]
pub struct ProofPoint {
    /// The weights w_j.
    pub w: Arc<[f64]>,
    /// α_j for each part.
    pub part_weights: Vec<f64>,
    /// The pieces chosen for examples at kinks, in the order of the examples.
    pub ties: Arc<[Tie]>,
}

/// The dual point behind a bound.
#[derive(Debug, Clone)]
pub enum Proof {
    /// Planes of the risk by the points where they touch, in the order in which these were
    /// visited; for each part the weights sum to 1.
    Points(Vec<ProofPoint>),
    /// For every example the slopes (one an output) of a minorant of its loss: the dual variables
    /// of methods that work on examples. How high such a minorant may lie, the loss itself says.
    Slopes(Vec<f64>),
    /// For every example outputs with their dual variables: the loss of a structured model lies
    /// above what each of its outputs says.
    Outputs(OutputProof),
}

/// A proof by outputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputProof {
    /// The outputs of each example that have weight; what is left to 1 is the truth's.
    pub examples: Vec<Vec<WeightedOutput>>,
}

/// An output of an example with its dual variable.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedOutput {
    /// The dual variable, above 0.
    pub weight: f64,
    /// The output, as the model writes it in numbers.
    pub code: Vec<u32>,
}

impl OutputProof {
    /// Weights, and as whole numbers: outputs of each example, their lengths, their numbers.
    pub(crate) fn arrays(&self) -> (Vec<f64>, [Vec<u64>; 3]) {
        let outputs = || self.examples.iter().flatten();
        let counts = self.examples.iter().map(|outputs| outputs.len() as u64);
        let codes = outputs().flat_map(|output| output.code.iter().map(|&code| u64::from(code)));
        (
            outputs().map(|output| output.weight).collect(),
            [
                counts.collect(),
                outputs().map(|output| output.code.len() as u64).collect(),
                codes.collect(),
            ],
        )
    }

    /// A proof from its arrays; nothing if they do not fit together.
    pub(crate) fn from_arrays(
        weights: &[f64],
        [counts, lengths, codes]: [&[u64]; 3],
    ) -> Option<Self> {
        let (mut weights, mut lengths, mut codes) = (weights.iter(), lengths.iter(), codes.iter());
        let mut examples = Vec::with_capacity(counts.len());
        for &count in counts {
            let mut outputs = Vec::new();
            for _ in 0..count {
                let (&weight, &length) = (weights.next()?, lengths.next()?);
                let mut code = Vec::new();
                for _ in 0..length {
                    code.push(u32::try_from(*codes.next()?).ok()?);
                }
                outputs.push(WeightedOutput { weight, code });
            }
            examples.push(outputs);
        }
        let whole = weights.next().is_none() && lengths.next().is_none() && codes.next().is_none();
        whole.then_some(OutputProof { examples })
    }
}

impl Proof {
    /// Planes that the bound is a combination of.
    pub fn planes(&self) -> usize {
        if let Proof::Points(points) = self { points.len() } else { 1 }
    }

    /// The points of a proof by points.
    pub fn points(&self) -> &[ProofPoint] {
        match self {
            Proof::Points(points) => points,
            Proof::Slopes(_) | Proof::Outputs(_) => &[],
        }
    }

    /// How many numbers it is made of.
    pub(crate) fn len(&self) -> usize {
        let numbers =
            |point: &ProofPoint| point.w.len() + point.part_weights.len() + 3 * point.ties.len();
        match self {
            Proof::Points(points) => points.iter().map(numbers).sum(),
            Proof::Slopes(slopes) => slopes.len(),
            Proof::Outputs(proof) => {
                let outputs = proof.examples.iter().flatten();
                proof.examples.len() + outputs.map(|output| output.code.len() + 2).sum::<usize>()
            }
        }
    }

    /// Points as arrays: the points, part weights, and ties as (point, example, piece).
    pub(crate) fn arrays(points: &[ProofPoint]) -> (Vec<f64>, Vec<f64>, Vec<u64>) {
        let w = points.iter().flat_map(|point| point.w.iter().copied()).collect();
        let weights = points.iter().flat_map(|point| point.part_weights.iter().copied());
        let ties = points.iter().enumerate().flat_map(|(at, point)| {
            point.ties.iter().flat_map(move |tie| {
                let [example, piece] = tie.pack();
                [at as u64, example, piece]
            })
        });
        (w, weights.collect(), ties.collect())
    }

    /// A proof of `count` points from its arrays; nothing if they do not fit together.
    pub(crate) fn from_arrays(
        count: usize,
        w: &[f64],
        part_weights: &[f64],
        ties: &[u64],
    ) -> Option<Proof> {
        let divides = |length: usize| count > 0 && length.is_multiple_of(count);
        let fits = divides(w.len()) && divides(part_weights.len()) && !part_weights.is_empty();
        if !fits || !ties.len().is_multiple_of(3) {
            return None;
        }
        let mut of_point = vec![Vec::new(); count];
        for tie in ties.as_chunks::<3>().0 {
            let list = of_point.get_mut(usize::try_from(tie[0]).ok()?)?;
            list.push(Tie::unpack([tie[1], tie[2]])?);
        }
        // A model may have no weights at all; its points are then empty.
        let (dim, parts) = (w.len() / count, part_weights.len() / count);
        let points = of_point.into_iter().enumerate().map(|(at, ties)| ProofPoint {
            w: w[at * dim..(at + 1) * dim].into(),
            part_weights: part_weights[at * parts..(at + 1) * parts].into(),
            ties: ties.into(),
        });
        Some(Proof::Points(points.collect()))
    }

    /// Writes the proof under a name.
    pub(crate) fn save(&self, name: &str, archive: &mut Archive) {
        match self {
            Proof::Points(points) => {
                let (w, weights, ties) = Proof::arrays(points);
                archive.put_integers(&format!("{name}.proof.points"), [points.len() as u64]);
                archive.put_reals(&format!("{name}.proof.w"), w);
                archive.put_reals(&format!("{name}.proof.weights"), weights);
                archive.put_integers(&format!("{name}.proof.ties"), ties);
            }
            Proof::Slopes(slopes) => {
                archive.put_reals(&format!("{name}.proof.slopes"), slopes.clone());
            }
            Proof::Outputs(proof) => {
                let (weights, [counts, lengths, codes]) = proof.arrays();
                archive.put_reals(&format!("{name}.proof.output_weights"), weights);
                archive.put_integers(&format!("{name}.proof.counts"), counts);
                archive.put_integers(&format!("{name}.proof.lengths"), lengths);
                archive.put_integers(&format!("{name}.proof.codes"), codes);
            }
        }
    }

    /// The proof that was written under a name, if there was one.
    pub(crate) fn load(name: &str, archive: &mut Archive) -> Result<Option<Proof>, ArchiveError> {
        if let Ok(slopes) = archive.take_reals(&format!("{name}.proof.slopes")) {
            return Ok(Some(Proof::Slopes(slopes)));
        }
        if let Ok(weights) = archive.take_reals(&format!("{name}.proof.output_weights")) {
            let mut take = |what: &str| archive.take_integers(&format!("{name}.proof.{what}"));
            let (counts, lengths, codes) = (take("counts")?, take("lengths")?, take("codes")?);
            let proof = OutputProof::from_arrays(&weights, [&counts, &lengths, &codes]);
            let proof = proof.ok_or_else(|| ArchiveError(format!("{name}.proof")))?;
            return Ok(Some(Proof::Outputs(proof)));
        }
        let Ok(count) = archive.take_integer(&format!("{name}.proof.points")) else {
            return Ok(None);
        };
        let w = archive.take_reals(&format!("{name}.proof.w"))?;
        let weights = archive.take_reals(&format!("{name}.proof.weights"))?;
        let ties = archive.take_integers(&format!("{name}.proof.ties"))?;
        Proof::from_arrays(count as usize, &w, &weights, &ties)
            .map(Some)
            .ok_or_else(|| ArchiveError(format!("{name}.proof")))
    }
}
