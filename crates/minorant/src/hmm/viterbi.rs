//! The best path of a sequence through the units that each frame allows (Viterbi), in log space.

use super::shape::End;
use super::{Densities, Tables, Task};

/// Where a path is at a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// The state, numbered through all units.
    pub state: usize,
    /// Whether the unit was entered at this frame.
    pub enters: bool,
}

const ENTERS: u32 = 1 << 31;

/// The score of the best path of a sequence, from the densities of its frames in the states of
/// these units at least.
/// `allows` says what a path's score gains where it is in a unit at a frame; nothing where the frame
/// does not allow the unit. `path` is filled with the path where it is asked for. Of equal paths the
/// first is taken.
pub fn best_path(
    tables: &Tables,
    densities: &Densities,
    units: std::ops::Range<usize>,
    allows: impl Fn(usize, usize) -> Option<f64>,
    path: Option<&mut Vec<Visit>>,
) -> f64 {
    let (shape, slots, arcs) = (tables.shape, tables.slots, &tables.arcs);
    let (q, length) = (shape.states, densities.length());
    let (first, count) = (units.start * q, units.len() * q);
    let mut score = vec![f64::NEG_INFINITY; count];
    let mut next = score.clone();
    let mut back: Vec<u32> = Vec::new();
    if path.is_some() {
        back.reserve_exact(count * length);
    }
    // The best score with which each unit is left, and where; and with which each is entered.
    let mut left = vec![(f64::NEG_INFINITY, 0u32); units.len()];
    for t in 0..length {
        let density = densities.of(t, first, count);
        if t > 0 && shape.task == Task::Label {
            for (unit, left) in left.iter_mut().enumerate() {
                *left = (f64::NEG_INFINITY, 0);
                for at in unit * q..(unit + 1) * q {
                    let value = score[at] + arcs[slots.exit(first + at)];
                    if value > left.0 {
                        *left = (value, at as u32);
                    }
                }
            }
        }
        for (k, unit) in units.clone().enumerate() {
            let Some(bonus) = allows(t, unit) else {
                next[k * q..(k + 1) * q].fill(f64::NEG_INFINITY);
                if path.is_some() {
                    back.extend(std::iter::repeat_n(0, q));
                }
                continue;
            };
            let mut entered = (f64::NEG_INFINITY, 0u32);
            if t == 0 {
                entered.0 = arcs[slots.begin(unit)];
            } else if shape.task == Task::Label {
                for (from, &(value, at)) in left.iter().enumerate() {
                    let value = value + arcs[slots.switch(units.start + from, unit)];
                    if value > entered.0 {
                        entered = (value, at);
                    }
                }
            }
            for to in 0..q {
                let at = k * q + to;
                let mut best = (f64::NEG_INFINITY, 0u32);
                if t > 0 {
                    for &(from, arc) in tables.into(first + at) {
                        let from = k * q + from as usize;
                        let value = score[from] + arc;
                        if value > best.0 {
                            best = (value, from as u32);
                        }
                    }
                }
                let value = entered.0 + arcs[slots.entry(first + at)];
                if value > best.0 {
                    best = (value, entered.1 | ENTERS);
                }
                next[at] = best.0 + density[at] + bonus;
                if path.is_some() {
                    back.push(best.1);
                }
            }
        }
        std::mem::swap(&mut score, &mut next);
    }
    let mut best = (f64::NEG_INFINITY, 0);
    for (at, &score) in score.iter().enumerate() {
        let value = match shape.may_end(at % q, length) {
            End::Exit => score + arcs[slots.exit(first + at)],
            End::Free => score,
            End::Never => continue,
        };
        if value > best.0 {
            best = (value, at);
        }
    }
    if let Some(path) = path {
        path.clear();
        let mut at = best.1;
        for t in (0..length).rev() {
            let step = back[t * count + at];
            path.push(Visit { state: first + at, enters: step & ENTERS != 0 });
            at = (step & !ENTERS) as usize;
        }
        path.reverse();
    }
    if length == 0 { 0.0 } else { best.0 }
}
