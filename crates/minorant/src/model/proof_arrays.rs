//! The proof of a structured model as arrays of a file, by points or by outputs: its model's, or
//! one of its own.

use super::file::PROOF_KIND;
use crate::container::{Container, FileError};
use crate::proof::{OutputProof, Proof};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    data_sha256: String,
}

/// Writes a proof to a file of its own.
pub(super) fn save(
    proof: Option<&Proof>,
    dim: usize,
    data_sha256: &str,
    path: &Path,
) -> Result<(), FileError> {
    let mut container = Container::new(&Header { data_sha256: data_sha256.into() });
    put(proof, dim, &mut container);
    container.write(path, PROOF_KIND)
}

/// The proof in a file of its own, if it is that of a model of this data.
pub(super) fn load(dim: usize, data_sha256: &str, path: &Path) -> Result<Proof, FileError> {
    let mut container = Container::read(path, PROOF_KIND)?;
    let header: Header = container.header(path)?;
    let proof = take(&mut container, dim).ok().flatten();
    proof.filter(|_| header.data_sha256 == data_sha256).ok_or_else(|| FileError::Content {
        path: path.into(),
        expected: "the proof of this model".into(),
        found: "the proof of another".into(),
    })
}

/// Arrays of a proof that do not fit together.
pub(super) struct Misfit;

pub(super) fn put(proof: Option<&Proof>, dim: usize, container: &mut Container) {
    match proof {
        Some(Proof::Points(points)) => {
            let parts = points.first().map_or(0, |point| point.part_weights.len());
            let (w, alpha, ties) = Proof::arrays(points);
            container.put_reals("proof.points", &[points.len(), dim], w);
            container.put_reals("proof.alpha", &[points.len(), parts], alpha);
            container.put_integers("proof.ties", ties);
        }
        Some(Proof::Outputs(proof)) => {
            let (weights, [counts, lengths, codes]) = proof.arrays();
            container.put_reals("proof.weights", &[weights.len()], weights);
            container.put_integers("proof.counts", counts);
            container.put_integers("proof.lengths", lengths);
            container.put_integers("proof.codes", codes);
        }
        Some(Proof::Slopes(_)) | None => {}
    }
}

/// The proof in a container, if there is one.
pub(super) fn take(container: &mut Container, dim: usize) -> Result<Option<Proof>, Misfit> {
    let has = |name: &str| container.arrays.contains_key(name);
    if !has("proof.points") && !has("proof.weights") {
        return Ok(None);
    }
    take_arrays(container, dim).map(Some).ok_or(Misfit)
}

fn take_arrays(container: &mut Container, dim: usize) -> Option<Proof> {
    if let Some((_, weights)) = container.take_reals("proof.weights") {
        let counts = container.take_integers("proof.counts")?;
        let lengths = container.take_integers("proof.lengths")?;
        let codes = container.take_integers("proof.codes")?;
        let proof = OutputProof::from_arrays(&weights, [&counts, &lengths, &codes])?;
        return Some(Proof::Outputs(proof));
    }
    let (shape, w) = container.take_reals("proof.points")?;
    let (alpha_shape, alpha) = container.take_reals("proof.alpha")?;
    let count = *shape.first()?;
    if shape != [count, dim] || alpha_shape.first() != Some(&count) {
        return None;
    }
    let ties = container.take_integers("proof.ties")?;
    Proof::from_arrays(count, &w, &alpha, &ties)
}
