//! A bundle to and from an archive, with the same bits.

use super::normal::Normal;
use super::proof::{Origin, Visit};
use super::{Bundle, Held, Limits};
use crate::archive::{Archive, ArchiveError};
use crate::master::{Gram, Master, MasterState};
use std::collections::BTreeMap;
use std::sync::Arc;

const LOST: u64 = u64::MAX;

impl Bundle {
    /// Writes everything that later iterations depend on.
    pub fn save(&self, archive: &mut Archive) {
        let mut visits: BTreeMap<u64, &Arc<[f64]>> = BTreeMap::new();
        let (mut counts, mut ids, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for plane in &self.planes {
            let Some(list) = plane.origin.shares() else {
                counts.push(LOST);
                continue;
            };
            let is_visit = matches!(plane.origin, Origin::Visit(_));
            counts.push(if is_visit { 0 } else { list.len() as u64 });
            for (visit, share) in list {
                visits.insert(visit.id, &visit.w);
                ids.push(visit.id);
                shares.push(share);
            }
        }
        archive.put_integers("visits.count", [self.visits]);
        archive.put_integers("visits.ids", visits.keys().copied());
        archive.put_reals("visits.w", visits.values().flat_map(|w| w.iter().copied()).collect());
        archive.put_integers("origins.counts", counts);
        archive.put_integers("origins.ids", ids);
        archive.put_reals("origins.shares", shares);
        let normals = self.planes.iter().flat_map(|plane| plane.normal.expand(self.dim));
        archive.put_reals("planes.normals", normals.collect());
        archive.put_reals("planes.offsets", self.planes.iter().map(|p| p.offset).collect());
        archive.put_reals("planes.lengths", self.planes.iter().map(|p| p.length).collect());
        archive.put_integers("planes.parts", self.planes.iter().map(|p| p.part as u64));
        archive.put_integers("planes.idle", self.planes.iter().map(|p| u64::from(p.idle)));
        let products = (0..self.len()).flat_map(|j| self.gram.row(j)[..=j].iter().copied());
        archive.put_reals("gram", products.collect());
        let master = self.master.snapshot();
        archive.put_reals("master.weights", master.weights);
        archive.put_integers("master.parts", master.part_of);
        archive.put_integers("master.support", master.support);
        archive.put_reals("master.factor", master.factor);
        archive.put_reals("master.shift", vec![master.shift]);
        archive.put_integers("master.updates", [master.updates as u64, master.stale as u64]);
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
        let visits: BTreeMap<u64, Arc<[f64]>> =
            ids.into_iter().zip(points.chunks(dim.max(1)).map(Arc::from)).collect();
        let counts = archive.take_integers("origins.counts")?;
        let shares = archive.take_reals("origins.shares")?;
        let mut shares = archive.take_integers("origins.ids")?.into_iter().zip(shares);
        let mut take = || {
            let (id, share) = shares.next()?;
            Some((Visit { id, w: visits.get(&id)?.clone() }, share))
        };
        let mut origins = Vec::new();
        for count in counts {
            origins.push(match count {
                LOST => Origin::Lost,
                0 => Origin::Visit(take().ok_or_else(|| bad("origins"))?.0),
                count => {
                    let list: Option<Vec<_>> = (0..count).map(|_| take()).collect();
                    Origin::Aggregate(list.ok_or_else(|| bad("origins"))?)
                }
            });
        }
        let normals = archive.take_reals("planes.normals")?;
        let offsets = archive.take_reals("planes.offsets")?;
        let lengths = archive.take_reals("planes.lengths")?;
        let of_part = archive.take_integers("planes.parts")?;
        let idle = archive.take_integers("planes.idle")?;
        let count = origins.len();
        let fits = normals.len() == count * dim
            && [offsets.len(), lengths.len(), of_part.len(), idle.len()] == [count; 4]
            && of_part.iter().all(|&part| part < parts as u64);
        if !fits {
            return Err(bad("planes"));
        }
        let planes = origins.into_iter().enumerate().map(|(j, origin)| Held {
            normal: Normal::store(normals[j * dim..(j + 1) * dim].to_vec()),
            length: lengths[j],
            offset: offsets[j],
            part: of_part[j] as usize,
            idle: idle[j] as u32,
            origin,
        });
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
        if state.part_of != of_part || state.weights.len() != count {
            return Err(bad("master"));
        }
        Ok(Bundle {
            dim,
            parts,
            limits: Limits { planes: limits.planes.max(3), ..limits },
            planes: planes.collect(),
            gram,
            master: Master::restore(state),
            visits: archive.take_integer("visits.count")?,
        })
    }
}
