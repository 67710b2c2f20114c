//! One example's restriction to an interval of a line, told piece by piece: the slope that holds
//! just after the interval's start, and by how much it changes where. Slopes are affine in η
//! (constant + linear · η), which covers piecewise linear and piecewise quadratic losses.

use super::envelope::Envelope;

/// A point of the line where the slope changes by `constant + linear · η`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breakpoint {
    /// The step η.
    pub at: f64,
    /// Change of the slope's constant term.
    pub constant: f64,
    /// Change of the slope's linear term.
    pub linear: f64,
}

/// What a loss writes its pieces into.
#[derive(Debug)]
pub struct Pieces<'s> {
    from: f64,
    to: f64,
    weight: f64,
    start: &'s mut [f64; 2],
    breakpoints: &'s mut Vec<Breakpoint>,
    envelope: &'s mut Envelope,
}

impl<'s> Pieces<'s> {
    /// Pieces on the interval (from, to), each scaled by the example's weight.
    pub fn new(
        (from, to): (f64, f64),
        weight: f64,
        start: &'s mut [f64; 2],
        breakpoints: &'s mut Vec<Breakpoint>,
        envelope: &'s mut Envelope,
    ) -> Self {
        Pieces { from, to, weight, start, breakpoints, envelope }
    }

    /// Where the interval starts.
    #[inline]
    pub fn from(&self) -> f64 {
        self.from
    }

    /// Where the interval ends.
    #[inline]
    pub fn to(&self) -> f64 {
        self.to
    }

    /// Adds to the slope just after the interval's start.
    #[inline]
    pub fn start(&mut self, constant: f64, linear: f64) {
        self.start[0] += constant * self.weight;
        self.start[1] += linear * self.weight;
    }

    /// The slope changes at `at`, which lies after the interval's start; changes from the
    /// interval's end on are left out.
    #[inline]
    pub fn change(&mut self, at: f64, constant: f64, linear: f64) {
        if at < self.to {
            let (constant, linear) = (constant * self.weight, linear * self.weight);
            self.breakpoints.push(Breakpoint { at, constant, linear });
        }
    }

    /// The pieces of a piecewise linear function of one output along `f + η d`: its slope on the
    /// far left, and by how much the slope jumps where.
    #[inline]
    pub fn kinks(&mut self, f: f64, d: f64, left: f64, kinks: &[(f64, f64)]) {
        if d == 0.0 {
            return;
        }
        let mut slope = left;
        for &(place, jump) in kinks {
            let at = (place - f) / d;
            let is_ahead = at > self.from;
            // Kinks on the left of the start count: behind it going right, ahead going left.
            if is_ahead == (d < 0.0) {
                slope += jump;
            }
            if is_ahead {
                self.change(at, jump * d.abs(), 0.0);
            }
        }
        self.start(slope * d, 0.0);
    }

    /// The pieces of a pointwise maximum of lines `offset + η slope`.
    pub fn maximum(&mut self, lines: impl Iterator<Item = (f64, f64)>) {
        self.scaled_maximum(1.0, lines);
    }

    /// The pieces of `factor` times a pointwise maximum of lines `offset + η slope`.
    pub fn scaled_maximum(&mut self, factor: f64, lines: impl Iterator<Item = (f64, f64)>) {
        let mut envelope = std::mem::take(self.envelope);
        envelope.segment(lines, self.from, self.to);
        let mut slope = envelope.segments()[0].slope;
        self.start(factor * slope, 0.0);
        for segment in &envelope.segments()[1..] {
            self.change(segment.from, factor * (segment.slope - slope), 0.0);
            slope = segment.slope;
        }
        *self.envelope = envelope;
    }

    /// A scratch envelope for losses that combine several maxima.
    pub fn take_envelope(&mut self) -> Envelope {
        std::mem::take(self.envelope)
    }

    /// Gives the scratch envelope back.
    pub fn return_envelope(&mut self, envelope: Envelope) {
        *self.envelope = envelope;
    }
}
