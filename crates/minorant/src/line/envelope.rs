//! Algorithm 4 of Yu et al.: the segments of a pointwise maximum of lines on an interval, in
//! O(r log r). Departures, all at the places where the printed algorithm fails: parallel lines are
//! never intersected, ties at the interval's start go to the steeper line, and lines that are no
//! steeper than the first segment are left out before sorting, for they can never come up again.

/// A stretch of the maximum: from here on this line is on top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Where the segment starts.
    pub from: f64,
    /// The line's slope.
    pub slope: f64,
    /// The line's value at the start of the whole interval.
    pub height: f64,
}

/// The segments of a maximum of lines, with the buffers that they are computed in.
#[derive(Debug, Default)]
pub struct Envelope {
    lines: Vec<(f64, f64)>,
    segments: Vec<Segment>,
}

impl Envelope {
    /// The segments found last, in ascending order; the first starts at the interval's start.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Finds the segments of max (offset + η slope) over `lines` = (offset, slope) on
    /// [start, end). There must be a line.
    pub fn segment(&mut self, lines: impl Iterator<Item = (f64, f64)>, start: f64, end: f64) {
        // y := b + L a, as (height at start, slope).
        self.lines.clear();
        self.lines.extend(lines.map(|(offset, slope)| (offset + slope * start, slope)));
        let higher = |a: &(f64, f64), b: &(f64, f64)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1));
        self.segments.clear();
        let Some(&top) = self.lines.iter().min_by(|a, b| higher(a, b)) else { return };
        self.segments.push(Segment { from: start, slope: top.1, height: top.0 });
        self.lines.retain(|line| {
            line.1 > top.1
                && (end == f64::INFINITY
                    || line.1 * (end - start) + line.0 > top.1 * (end - start) + top.0)
        });
        self.lines.sort_unstable_by(higher);
        for &(height, slope) in &self.lines {
            let mut meets = start;
            while let Some(last) = self.segments.last() {
                // A line that starts lower and is no steeper than the last one stays below it.
                if slope <= last.slope {
                    meets = f64::INFINITY;
                    break;
                }
                meets = start + (last.height - height) / (slope - last.slope);
                // Figure 12(c): the last segment is overtaken before it begins.
                if meets <= last.from {
                    self.segments.pop()
                } else {
                    break;
                };
            }
            if self.segments.is_empty() {
                self.segments.push(Segment { from: start, slope, height });
            } else if meets < end {
                self.segments.push(Segment { from: meets, slope, height });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(lines: &[(f64, f64)], start: f64, end: f64) -> Vec<(f64, f64)> {
        let mut envelope = Envelope::default();
        envelope.segment(lines.iter().copied(), start, end);
        envelope.segments().iter().map(|s| (s.from, s.slope)).collect()
    }

    #[test]
    fn three_lines_with_one_below() {
        // Figure 12: 1 − η, −1 + η and a line that the two others hide.
        let lines = [(1.0, -1.0), (-1.0, 1.0), (-0.5, 0.0)];
        assert_eq!(segments(&lines, 0.0, f64::INFINITY), [(0.0, -1.0), (1.0, 1.0)]);
        assert_eq!(segments(&lines, 0.0, 1.0), [(0.0, -1.0)]);
        assert_eq!(segments(&lines, 2.0, 9.0), [(2.0, 1.0)]);
    }

    #[test]
    fn ties_and_parallel_lines() {
        assert_eq!(segments(&[(0.0, 1.0), (0.0, 2.0), (0.0, 2.0)], 0.0, 9.0), [(0.0, 2.0)]);
        assert_eq!(segments(&[(1.0, 1.0), (0.0, 1.0)], 0.0, 9.0), [(0.0, 1.0)]);
        // Three lines through one point: the middle one never comes up.
        let through = [(1.0, -1.0), (0.0, 0.0), (-1.0, 1.0)];
        let found = segments(&through, 0.0, 9.0);
        assert_eq!((found[0], *found.last().unwrap()), ((0.0, -1.0), (1.0, 1.0)));
    }
}
