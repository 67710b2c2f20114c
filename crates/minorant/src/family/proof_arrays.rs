//! Proofs as arrays of a file, by points, by slopes or by outputs: the model's own file, or one of
//! the proof's own.

use super::Misfit;
use crate::container::Container;
use crate::proof::{OutputProof, Proof};

/// Bytes of a proof.
pub(super) fn bytes(proof: &Proof) -> u64 {
    8 * proof.len() as u64
}

/// Writes the proof of a problem of so many weights and examples.
pub(super) fn put(
    proof: &Proof,
    prefix: &str,
    dim: usize,
    slopes_shape: [usize; 2],
    file: &mut Container,
) {
    let name = |array: &str| format!("{prefix}{array}");
    match proof {
        Proof::Points(points) => {
            let parts = points.first().map_or(0, |point| point.part_weights.len());
            let (w, alpha, ties) = Proof::arrays(points);
            file.put_reals(&name("points"), &[points.len(), dim], w);
            file.put_reals(&name("alpha"), &[points.len(), parts], alpha);
            file.put_integers(&name("ties"), ties);
        }
        Proof::Slopes(slopes) => file.put_reals(&name("slopes"), &slopes_shape, slopes.clone()),
        Proof::Outputs(proof) => {
            let (weights, [counts, lengths, codes]) = proof.arrays();
            file.put_list(&name("weights"), &weights);
            file.put_integers(&name("counts"), counts);
            file.put_integers(&name("lengths"), lengths);
            file.put_integers(&name("codes"), codes);
        }
    }
}

/// The proof of a problem in a file, if there is one.
pub(super) fn take(
    file: &mut Container,
    prefix: &str,
    dim: usize,
    slopes_shape: [usize; 2],
) -> Result<Option<Proof>, Misfit> {
    let name = |array: &str| format!("{prefix}{array}");
    let known = ["points", "weights", "slopes"].map(name);
    if !known.iter().any(|name| file.arrays.contains_key(name)) {
        return Ok(None);
    }
    let mut proof = || {
        if let Some((shape, slopes)) = file.take_reals(&name("slopes")) {
            return (shape == slopes_shape).then_some(Proof::Slopes(slopes));
        }
        if let Some((_, weights)) = file.take_reals(&name("weights")) {
            let counts = file.integers(&name("counts"))?;
            let lengths = file.integers(&name("lengths"))?;
            let codes = file.integers(&name("codes"))?;
            let proof = OutputProof::from_arrays(&weights, [&counts, &lengths, &codes])?;
            return Some(Proof::Outputs(proof));
        }
        let (shape, w) = file.take_reals(&name("points"))?;
        let (alpha_shape, alpha) = file.take_reals(&name("alpha"))?;
        let count = *shape.first()?;
        if shape != [count, dim] || alpha_shape.first() != Some(&count) {
            return None;
        }
        let ties = file.integers(&name("ties"))?;
        Proof::from_arrays(count, &w, &alpha, &ties)
    };
    proof().map(Some).ok_or_else(|| Misfit::without("a proof that fits the model"))
}
