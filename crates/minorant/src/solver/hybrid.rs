//! `hybrid`: starts as subLBFGS, which is fast at first, and hands its planes over to `ls-p-bmrm`
//! when its progress slows (what §8.5 and §9 of Yu et al. hope for; the rule is ours). Planes of
//! all parts are kept from the start, so the model is already good when its turn comes. Now and
//! then the model's minimiser is tried on the way; once such steps gain more than walking does, the
//! bundle method takes over.

use super::quasi_newton::{Companion, LimitedMemory, SearchRules};
use super::{Halt, LsBmrm, MethodOptions, Run, Solver, Status, Step, SubBfgs};
use crate::archive::{Archive, ArchiveError};
use crate::bundle::Limits;
use crate::risk::Point;

/// Walks between two tries of the model.
const WALKS: u32 = 4;
/// How much of older gains counts when a new one comes.
const FADING: f64 = 0.5;

/// subLBFGS, then the bundle method with line search.
#[derive(Debug)]
pub struct Hybrid {
    walk: SubBfgs,
    bundle: LsBmrm,
    taken_over: bool,
    /// Walks since the model was tried last.
    walks: u32,
    /// What one evaluation has gained lately, by a walk and by the model.
    gains: [Option<f64>; 2],
}

impl Hybrid {
    /// A run with `parts` plane models. The risk must offer lines and its subdifferential.
    pub(super) fn new(
        dim: usize,
        pairs: usize,
        parts: usize,
        limits: Limits,
        how: (&MethodOptions, SearchRules),
    ) -> Self {
        let companion = Companion::new(dim, parts, limits, true);
        let inverse = Box::new(LimitedMemory::new(pairs));
        Hybrid {
            walk: SubBfgs::new(dim, inverse, companion, true, how),
            bundle: LsBmrm::new(dim, parts, limits),
            taken_over: false,
            walks: 0,
            gains: [None; 2],
        }
    }

    /// Notes what a step gained.
    fn note(&mut self, model: bool, gain: f64) {
        let average = &mut self.gains[usize::from(model)];
        *average = Some(average.map_or(gain, |old| FADING * old + (1.0 - FADING) * gain));
    }

    fn hand_over(&mut self) -> Result<(), Halt> {
        let walk = self.walk.walk();
        let best = walk.best().cloned();
        let bundle = walk.companion().take();
        let (Some(best), Some(bundle)) = (best, bundle) else {
            return Err(Halt::Stop(Status::Stalled));
        };
        self.bundle.take_over(bundle, best, walk.best_is_combined());
        self.taken_over = true;
        Ok(())
    }
}

impl Solver for Hybrid {
    fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        self.walk.start(run)
    }

    fn step(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        if self.taken_over {
            return self.bundle.step(run);
        }
        run.reserve_final_pass();
        let before = run.best_objective();
        let minimiser = self.walk.walk().companion().solve(run)?;
        if self.walks >= WALKS
            && let Some(w) = minimiser
        {
            let step = self.walk.model_step(run, w)?;
            self.walks = 0;
            self.note(true, before - run.best_objective());
            if let [Some(walk), Some(model)] = self.gains
                && model > walk
            {
                self.hand_over()?;
            }
            return Ok(step);
        }
        self.walks += 1;
        let step = self.walk.walk_on(run)?;
        self.note(false, before - run.best_objective());
        if step.kind == "null" {
            self.hand_over()?;
        }
        Ok(step)
    }

    fn best(&self) -> Option<&Point> {
        if self.taken_over { self.bundle.best() } else { self.walk.best() }
    }

    fn best_is_combined(&self) -> bool {
        if self.taken_over { self.bundle.best_is_combined() } else { self.walk.best_is_combined() }
    }

    fn planes(&self) -> usize {
        if self.taken_over { self.bundle.planes() } else { self.walk.planes() }
    }

    fn save(&self, archive: &mut Archive) {
        let gains = self.gains.map(|gain| gain.unwrap_or(f64::NAN));
        archive.put_reals("hybrid.gains", gains.to_vec());
        archive.put_integers("hybrid", [u64::from(self.taken_over), u64::from(self.walks)]);
        if self.taken_over {
            self.bundle.save(archive);
        } else {
            self.walk.save(archive);
        }
    }

    fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let [taken_over, walks] = archive.take_integers("hybrid")?[..] else {
            return Err(ArchiveError("hybrid".into()));
        };
        let [walk, model] = archive.take_reals("hybrid.gains")?[..] else {
            return Err(ArchiveError("hybrid.gains".into()));
        };
        (self.taken_over, self.walks) = (taken_over != 0, walks as u32);
        self.gains = [walk, model].map(|gain| Some(gain).filter(|gain| !gain.is_nan()));
        if self.taken_over { self.bundle.load(archive) } else { self.walk.load(archive) }
    }
}
