//! The step of dual coordinate ascent for Crammer and Singer's hinge, all classes of an example at
//! once: the slopes, raised by 1 at the label, are shares u on a simplex, and the step is the
//! projection of u + (Δ + f) / curvature onto it.

use super::loss::{Climb, Rival};

/// What the shares of an example look like to its scores.
struct View {
    /// The highest score.
    top: f64,
    /// The lowest score of a class that has a share.
    lowest: f64,
    /// How many classes have a share.
    holders: f64,
}

/// Several running values side by side, so that none waits for another.
const LANES: usize = 4;

/// Looks at all classes without a branch that nobody could foresee. The label's share is its slope
/// plus 1.
#[inline(always)]
fn look(label: usize, margins: &[f64], f: &[f64], c: &[f64]) -> View {
    let mut top = [f64::NEG_INFINITY; LANES];
    let mut lowest = [f64::INFINITY; LANES];
    let mut holders = [0.0; LANES];
    let own = margins[label] + f[label];
    if c[label] > -1.0 {
        (lowest[0], holders[0]) = (own, 1.0);
    }
    let mut note = |lane: usize, margin: f64, f: f64, c: f64| {
        let score = margin + f;
        let held = if c > 0.0 { score } else { f64::INFINITY };
        top[lane] = if score > top[lane] { score } else { top[lane] };
        lowest[lane] = if held < lowest[lane] { held } else { lowest[lane] };
        holders[lane] += if c > 0.0 { 1.0 } else { 0.0 };
    };
    let (margins, margins_rest) = margins.as_chunks::<LANES>();
    let (f, f_rest) = f.as_chunks::<LANES>();
    let (c, c_rest) = c.as_chunks::<LANES>();
    for ((margins, f), c) in margins.iter().zip(f).zip(c) {
        for lane in 0..LANES {
            note(lane, margins[lane], f[lane], c[lane]);
        }
    }
    for (lane, ((margin, f), c)) in margins_rest.iter().zip(f_rest).zip(c_rest).enumerate() {
        note(lane, *margin, *f, *c);
    }
    View {
        top: top.into_iter().fold(f64::NEG_INFINITY, f64::max),
        lowest: lowest.into_iter().fold(f64::INFINITY, f64::min),
        holders: holders.iter().sum(),
    }
}

impl View {
    /// At the optimum only classes of the highest score have shares. Where one class has all of
    /// it and the highest score, it is held by the distance to the second score.
    #[inline(always)]
    fn pull(&self, margins: &[f64], f: &[f64]) -> f64 {
        if self.holders > 1.0 || self.lowest < self.top {
            return self.top - self.lowest;
        }
        let (mut tops, mut second) = (0, f64::NEG_INFINITY);
        for (margin, f) in margins.iter().zip(f) {
            let score = margin + f;
            tops += usize::from(score == self.top);
            second = if score < self.top && score > second { score } else { second };
        }
        if tops > 1 { 0.0 } else { second - self.top }
    }
}

/// How steep the dual is for these slopes of an example with this label; negative where they are
/// held, and how firmly.
pub(super) fn pull(label: usize, margins: &[f64], f: &[f64], c: &[f64]) -> f64 {
    look(label, margins, f, c).pull(margins, f)
}

/// Moves the slopes `c` of an example with this label to the best place for outputs `f`, and adds
/// the way to `change`.
#[inline(always)]
pub(super) fn climb(
    label: usize,
    margins: &[f64],
    f: &[f64],
    curvature: f64,
    c: &mut [f64],
    change: &mut [f64],
    rivals: &mut Vec<Rival>,
) -> Climb {
    let view = look(label, margins, f, c);
    let pull = view.pull(margins, f);
    if pull <= 0.0 {
        return Climb { rise: 0.0, pull, way: 0.0 };
    }
    // The goals u + (score − top) / curvature; those that lie 1 below another get no share, and
    // the goal of the highest score is not below 0.
    let reach = (1.0 / curvature).min(1e100);
    let mut sum = 0.0;
    rivals.clear();
    let classes = margins.iter().zip(f).zip(&*c).enumerate();
    for (class, ((margin, f), c)) in classes {
        let (share, behind) = (if class == label { c + 1.0 } else { *c }, margin + f - view.top);
        let goal = share + behind * reach;
        if goal > -1.0 || share > 0.0 {
            rivals.push(Rival { class, share, behind, goal });
            sum += goal;
        }
    }
    // Michelot's projection: shares are what stands out above a level, which only rises, and what
    // once lies below it stays there.
    let (mut level, mut count) = (f64::NEG_INFINITY, rivals.len() as f64);
    loop {
        let next = (sum - 1.0) / count;
        if next <= level {
            break;
        }
        level = next;
        (sum, count) = (0.0, 0.0);
        for rival in rivals.iter() {
            sum += if rival.goal > level { rival.goal } else { 0.0 };
            count += if rival.goal > level { 1.0 } else { 0.0 };
        }
    }
    let (mut rise, mut way, mut others) = (0.0, 0.0, 0.0);
    for rival in rivals.iter() {
        let share = (rival.goal - level).max(0.0);
        let step = share - rival.share;
        rise += step * (rival.behind - 0.5 * curvature * step);
        if rival.class != label {
            others += share;
            change[rival.class] = share - c[rival.class];
            way += step.abs();
            c[rival.class] = share;
        }
    }
    // What the others have, the label has not.
    let own = -others.min(1.0);
    change[label] = own - c[label];
    way += change[label].abs();
    c[label] = own;
    Climb { rise, pull, way }
}
