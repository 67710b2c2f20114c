//! A bundle to and from an archive, with the same bits.

use super::normal::{self, Normal};
use super::origin::{Origin, Visit};
use super::{Bundle, Center, Free, Held, LEAST, Limits};
use crate::archive::{Archive, ArchiveError};
use crate::master::{Gram, Master, MasterState};
use crate::risk::Tie;
use std::collections::BTreeMap;
use std::sync::Arc;

const LOST: u64 = u64::MAX;
const SLOPES: u64 = u64::MAX - 1;

impl Bundle {
    /// Writes everything that later iterations depend on.
    pub fn save(&self, archive: &mut Archive) {
        let mut visits: BTreeMap<u64, &Visit> = BTreeMap::new();
        let (mut counts, mut ids, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        let (mut slope_counts, mut slopes) = (Vec::new(), Vec::new());
        for plane in &self.planes {
            if let Origin::Slopes(of_plane) = &plane.origin {
                counts.push(SLOPES);
                slope_counts.push(of_plane.len() as u64);
                slopes.extend_from_slice(of_plane);
                continue;
            }
            let Some(list) = plane.origin.shares() else {
                counts.push(LOST);
                continue;
            };
            let is_visit = matches!(plane.origin, Origin::Visit(_));
            counts.push(if is_visit { 0 } else { list.len() as u64 });
            for (visit, share) in list {
                visits.insert(visit.id, visit);
                ids.push(visit.id);
                shares.push(share);
            }
        }
        archive.put_integers("visits.count", [self.visits]);
        archive.put_integers("visits.ids", visits.keys().copied());
        archive.put_reals(
            "visits.w",
            visits.values().flat_map(|visit| visit.w.iter().copied()).collect(),
        );
        archive.put_integers("visits.tie_counts", visits.values().map(|v| v.ties.len() as u64));
        let ties = visits.values().flat_map(|visit| visit.ties.iter().flat_map(|tie| tie.pack()));
        archive.put_integers("visits.ties", ties);
        archive.put_integers("origins.counts", counts);
        archive.put_integers("origins.ids", ids);
        archive.put_reals("origins.shares", shares);
        archive.put_integers("origins.slope_counts", slope_counts);
        archive.put_reals("origins.slopes", slopes);
        let aggregates = self.planes.iter().map(|plane| u64::from(plane.is_aggregate));
        archive.put_integers("origins.aggregates", aggregates);
        normal::save(self.planes.iter().map(|plane| &plane.normal), archive);
        archive.put_reals("planes.offsets", self.planes.iter().map(|p| p.offset).collect());
        let sizes = self.planes.iter().flat_map(|p| [p.length, p.normal_error, p.offset_error]);
        archive.put_reals("planes.sizes", sizes.collect());
        archive.put_integers("planes.parts", self.planes.iter().map(|p| p.part as u64));
        archive.put_integers("planes.idle", self.planes.iter().map(|p| u64::from(p.idle)));
        save_master(&self.gram, &self.master, archive);
        if let Some(center) = &self.center {
            center.save(archive);
        }
        if let Some(free) = &self.free {
            free.save(archive);
        }
    }

    /// The bundle that was saved.
    pub fn load(
        dim: usize,
        parts: usize,
        limits: Limits,
        archive: &mut Archive,
    ) -> Result<Self, ArchiveError> {
        let bad = |name: &str| ArchiveError(name.into());
        let ids = archive.take_integers("visits.ids")?;
        let points = archive.take_reals("visits.w")?;
        if points.len() != ids.len() * dim {
            return Err(bad("visits.w"));
        }
        let tie_counts = archive.take_integers("visits.tie_counts")?;
        let ties = archive.take_integers("visits.ties")?;
        let mut ties = ties.as_chunks::<2>().0.iter().map(|tie| Tie::unpack(*tie));
        if tie_counts.len() != ids.len() {
            return Err(bad("visits.tie_counts"));
        }
        let mut visits: BTreeMap<u64, Visit> = BTreeMap::new();
        for ((&id, w), &count) in ids.iter().zip(points.chunks(dim.max(1))).zip(&tie_counts) {
            let list: Option<Vec<Tie>> = ties.by_ref().take(count as usize).collect();
            let list = list.filter(|list| list.len() as u64 == count);
            let ties = list.ok_or_else(|| bad("visits.ties"))?.into();
            visits.insert(id, Visit { id, w: Arc::from(w), ties });
        }
        let counts = archive.take_integers("origins.counts")?;
        let shares = archive.take_reals("origins.shares")?;
        let mut shares = archive.take_integers("origins.ids")?.into_iter().zip(shares);
        let mut take = || {
            let (id, share) = shares.next()?;
            Some((visits.get(&id)?.clone(), share))
        };
        // Archives of 0.1 know no slopes, and tell aggregates by their origins.
        let aggregates = archive.take_integers("origins.aggregates");
        let aggregates = aggregates
            .unwrap_or_else(|_| counts.iter().map(|&count| u64::from(count != 0)).collect());
        let slope_counts = archive.take_integers("origins.slope_counts").unwrap_or_default();
        let slopes = archive.take_reals("origins.slopes").unwrap_or_default();
        let (mut slopes, mut slope_counts) = (&slopes[..], slope_counts.into_iter());
        let mut take_slopes = || {
            let (of_plane, rest) = slopes.split_at_checked(slope_counts.next()? as usize)?;
            slopes = rest;
            Some(Origin::Slopes(of_plane.into()))
        };
        let mut origins = Vec::new();
        for count in counts {
            origins.push(match count {
                SLOPES => take_slopes().ok_or_else(|| bad("origins.slopes"))?,
                LOST => Origin::Lost,
                0 => Origin::Visit(take().ok_or_else(|| bad("origins"))?.0),
                count => {
                    let list: Option<Vec<_>> = (0..count).map(|_| take()).collect();
                    Origin::Aggregate(list.ok_or_else(|| bad("origins"))?)
                }
            });
        }
        let normals = normal::load(dim, archive)?;
        let offsets = archive.take_reals("planes.offsets")?;
        let sizes = archive.take_reals("planes.sizes")?;
        let of_part = archive.take_integers("planes.parts")?;
        let idle = archive.take_integers("planes.idle")?;
        let count = origins.len();
        let lengths = [normals.len(), offsets.len(), of_part.len(), idle.len(), aggregates.len()];
        let is_told = |(normal, origin): (&Normal, &Origin)| {
            !matches!(normal, Normal::Absent) || matches!(origin, Origin::Slopes(_))
        };
        let fits = lengths == [count; 5]
            && normals.iter().zip(&origins).all(is_told)
            && sizes.len() == 3 * count
            && of_part.iter().all(|&part| part < parts as u64);
        if !fits {
            return Err(bad("planes"));
        }
        let planes =
            origins.into_iter().zip(normals).enumerate().map(|(j, (origin, normal))| Held {
                normal,
                length: sizes[3 * j],
                normal_error: sizes[3 * j + 1],
                offset: offsets[j],
                offset_error: sizes[3 * j + 2],
                part: of_part[j] as usize,
                idle: idle[j] as u32,
                is_aggregate: aggregates[j] != 0,
                origin,
            });
        let (gram, master) = load_master(count, parts, archive)?;
        if (0..count).any(|j| master.part_of(j) as u64 != of_part[j]) {
            return Err(bad("master"));
        }
        Ok(Bundle {
            dim,
            parts,
            limits: Limits { planes: limits.planes.max(LEAST), ..limits },
            planes: planes.collect(),
            gram,
            master,
            visits: archive.take_integer("visits.count")?,
            center: Center::load(dim, count, archive)?,
            free: Free::load(dim, archive)?,
        })
    }
}

/// Writes a Gram matrix and the master over it.
pub(crate) fn save_master(gram: &Gram, master: &Master, archive: &mut Archive) {
    let products = (0..gram.len()).flat_map(|j| gram.row(j)[..=j].iter().copied());
    archive.put_reals("gram", products.collect());
    let master = master.snapshot();
    archive.put_reals("master.weights", master.weights);
    archive.put_integers("master.parts", master.part_of);
    archive.put_integers("master.support", master.support);
    archive.put_reals("master.factor", master.factor);
    archive.put_reals("master.shift", vec![master.shift]);
    archive.put_integers("master.updates", [master.updates as u64, master.stale as u64]);
}

/// The Gram matrix of `count` planes and the master that were saved.
pub(crate) fn load_master(
    count: usize,
    parts: usize,
    archive: &mut Archive,
) -> Result<(Gram, Master), ArchiveError> {
    let bad = |name: &str| ArchiveError(name.into());
    let products = archive.take_reals("gram")?;
    if products.len() != count * (count + 1) / 2 {
        return Err(bad("gram"));
    }
    let mut gram = Gram::new();
    let mut at = 0;
    for j in 0..count {
        gram.push(&products[at..=at + j]);
        at += j + 1;
    }
    let updates = archive.take_integers("master.updates")?;
    let [updates, stale] = updates[..] else { return Err(bad("master.updates")) };
    let state = MasterState {
        parts,
        part_of: archive.take_integers("master.parts")?,
        weights: archive.take_reals("master.weights")?,
        support: archive.take_integers("master.support")?,
        factor: archive.take_reals("master.factor")?,
        shift: archive.take_real("master.shift")?,
        updates: updates as usize,
        stale: stale as usize,
    };
    let of_known_parts = state.part_of.iter().all(|&part| part < parts as u64);
    if state.part_of.len() != count || state.weights.len() != count || !of_known_parts {
        return Err(bad("master"));
    }
    Ok((gram, Master::restore(state)))
}
