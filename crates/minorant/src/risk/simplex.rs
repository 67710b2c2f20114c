//! The step of dual coordinate ascent for Crammer and Singer's hinge, all classes of an example at
//! once: the slopes, raised by 1 at the label, are shares u on a simplex, and the step is the
//! projection of u + (Δ + f) / curvature onto it.

use super::loss::{Climb, Foothold, Rival};

/// What the shares of an example look like to its scores.
struct View {
    /// The highest score.
    top: f64,
    /// The lowest score of a class that has a share, and the sum of all such scores.
    lowest: f64,
    held: f64,
    /// How many classes have a share.
    holders: f64,
}

/// Classes that are looked at together, each with running values of its own, so that none waits for
/// another and no branch stands where nobody could foresee it.
const LANES: usize = 4;

/// Four classes: margins, outputs and slopes. Classes that are not there have no score at all.
struct Group {
    scores: [f64; LANES],
    slopes: [f64; LANES],
}

#[inline(always)]
fn group(at: usize, margins: &[f64], f: &[f64], c: &[f64]) -> Group {
    let mut group = Group { scores: [f64::NEG_INFINITY; LANES], slopes: [0.0; LANES] };
    if let (Some(margins), Some(f), Some(c)) = (
        margins[at..].first_chunk::<LANES>(),
        f[at..].first_chunk::<LANES>(),
        c[at..].first_chunk::<LANES>(),
    ) {
        for lane in 0..LANES {
            group.scores[lane] = margins[lane] + f[lane];
        }
        group.slopes = *c;
    } else {
        for (lane, z) in (at..c.len()).enumerate().take(LANES) {
            group.scores[lane] = margins[z] + f[z];
            group.slopes[lane] = c[z];
        }
    }
    group
}

/// Looks at all classes. The label's share is its slope plus 1.
#[inline(always)]
fn look(label: usize, margins: &[f64], f: &[f64], c: &[f64]) -> View {
    let mut top = [f64::NEG_INFINITY; LANES];
    let mut lowest = [f64::INFINITY; LANES];
    let mut sums = [0.0; LANES];
    let mut holders = [0.0; LANES];
    for at in (0..c.len()).step_by(LANES) {
        let Group { scores, slopes } = group(at, margins, f, c);
        for lane in 0..LANES {
            let has = slopes[lane] > 0.0;
            let held = if has { scores[lane] } else { f64::INFINITY };
            top[lane] = if scores[lane] > top[lane] { scores[lane] } else { top[lane] };
            lowest[lane] = if held < lowest[lane] { held } else { lowest[lane] };
            sums[lane] += if has { scores[lane] } else { 0.0 };
            holders[lane] += if has { 1.0 } else { 0.0 };
        }
    }
    if c[label] > -1.0 {
        let own = margins[label] + f[label];
        lowest[0] = lowest[0].min(own);
        sums[0] += own;
        holders[0] += 1.0;
    }
    View {
        top: top.into_iter().fold(f64::NEG_INFINITY, f64::max),
        lowest: lowest.into_iter().fold(f64::INFINITY, f64::min),
        held: sums.iter().sum(),
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

/// Of the first `count` rivals, moves those whose goals lie above a level to the front; their sum
/// and number.
#[inline(always)]
fn above(level: f64, rivals: &mut [Rival], count: usize) -> (f64, usize) {
    let (mut sum, mut left) = (0.0, 0);
    for at in 0..count {
        if rivals[at].goal > level {
            sum += rivals[at].goal;
            rivals.swap(left, at);
            left += 1;
        }
    }
    (sum, left)
}

/// Moves the slopes `c` of an example with this label to the best place for outputs `f`, and adds
/// the way to `change`.
#[inline(always)]
pub(super) fn climb(label: usize, margins: &[f64], from: Foothold<'_>) -> Climb {
    let Foothold { f, curvature, c, change, room: rivals } = from;
    let view = look(label, margins, f, c);
    let pull = view.pull(margins, f);
    if pull <= 0.0 {
        return Climb { rise: 0.0, pull, way: 0.0 };
    }
    // The goals u + (score − top) / curvature. Shares are what stands out above a level, which is
    // not lower than 1 below the highest goal; that is not below 0, nor below the goal of a class
    // with an average share. Nor is the level lower than where it would be if the holders were
    // alone and all of them kept a share: at their mean score. Without a share and a score near the
    // top there is none to get.
    let reach = (1.0 / curvature).min(1e100);
    let alone = (view.held / view.holders - view.top) * reach;
    let floor = ((1.0 / view.holders - pull * reach).max(0.0) - 1.0).max(alone);
    let near = floor * curvature;
    rivals.clear();
    for at in (0..c.len()).step_by(LANES) {
        let Group { scores, slopes } = group(at, margins, f, c);
        let mut any = (at..at + LANES).contains(&label);
        for lane in 0..LANES {
            any |= slopes[lane] > 0.0;
            any |= scores[lane] - view.top >= near;
        }
        if !any {
            continue;
        }
        for (lane, class) in (at..c.len()).enumerate().take(LANES) {
            let share = if class == label { slopes[lane] + 1.0 } else { slopes[lane] };
            let behind = scores[lane] - view.top;
            if behind >= near || share > 0.0 {
                rivals.push(Rival { class, share, behind, goal: share + behind * reach });
            }
        }
    }
    // Michelot's projection: the level rises until nothing falls below it any more, and what once
    // lies below it stays there.
    let all = rivals.len();
    let (mut sum, mut count) = above(floor, rivals, all);
    let level = loop {
        let level = (sum - 1.0) / count as f64;
        let before = count;
        (sum, count) = above(level, rivals, count);
        if count == before || count == 0 {
            break level;
        }
    };
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
