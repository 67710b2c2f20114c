//! A walk: the place where a method stands, the step to the next one, and the bundle that goes
//! along. Every step goes down, so the place is also the best point so far. Where the walk finds
//! no way down, or its bound lags, the minimiser of the bundle's model is tried instead.

use super::Companion;
use super::direction::{Direction, Effort, Found, descent_direction};
use super::search::{self, Reached, SearchRules};
use crate::archive::{Archive, ArchiveError};
use crate::line;
use crate::risk::{Plane, Point, RiskError};
use crate::solver::{Halt, LineSearch, Run, Status, Step, load_point, save_point};
use minorant_linalg::dense::{axpy, between};

/// Where planes are taken on the way to the model's minimiser if the way leads nowhere down.
const MU: f64 = 0.1;
/// Most model steps between two attempts to walk.
const LONGEST_REST: u32 = 64;
/// The shortest fraction of the way to the model's minimiser that is tried.
const SHORTEST: f64 = 1.0 / 64.0;
/// A walk whose second half gained more than this many times the gap asked for still gains.
const WORTHWHILE: f64 = 2.0;
/// A walk without help whose last so many steps gained less than this share of the gap asked for
/// has come to a halt.
const CREEPING: (usize, f64) = (20, 1e-3);

/// A point with its objective and a subgradient of the objective there.
#[derive(Debug, Clone)]
pub(in crate::solver) struct Site {
    pub(in crate::solver) point: Point,
    pub(in crate::solver) objective: f64,
    pub(in crate::solver) gradient: Vec<f64>,
}

impl Site {
    /// The site at a point with its planes.
    pub(super) fn new(run: &Run<'_>, point: Point, planes: &[Plane]) -> Result<Self, RiskError> {
        let mut gradient = vec![0.0; point.w.len()];
        planes.iter().for_each(|plane| axpy(1.0, &plane.normal, &mut gradient));
        run.problem.regularizer.add_gradient(&point.w, &mut gradient);
        Ok(Site { objective: run.objective(&point)?, gradient, point })
    }

    /// The subgradient of the objective with the largest inner product with `p`.
    pub(in crate::solver) fn steepest(
        &self,
        run: &Run<'_>,
        p: &[f64],
    ) -> Result<Vec<f64>, RiskError> {
        let mut subgradient = self.gradient.clone();
        if let Some(all) = run.problem.risk.subdifferential() {
            let kinks = all.kinks(&self.point);
            all.steepen(&self.point, &kinks, p, &mut subgradient, run.cancel())?;
        }
        Ok(subgradient)
    }

    /// Algorithm 2 at this site.
    pub(in crate::solver) fn descent_direction(
        &self,
        run: &Run<'_>,
        effort: Effort,
        times: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Result<Found, Halt> {
        let all = run.problem.risk.subdifferential().filter(|_| !run.problem.risk.is_smooth());
        let kinks = all.map_or(Vec::new(), |all| all.kinks(&self.point));
        descent_direction(&self.gradient, effort, times, |p| {
            let mut subgradient = self.gradient.clone();
            if let Some(all) = all.filter(|_| !kinks.is_empty()) {
                // A round costs no evaluation, but a product with B, and there may be many.
                run.check_limits()?;
                all.steepen(&self.point, &kinks, p, &mut subgradient, run.cancel())?;
            }
            Ok(subgradient)
        })
    }
}

/// What to do next.
#[derive(Debug)]
pub(in crate::solver) enum Turn {
    /// Walk on.
    Walk,
    /// Try the minimiser of the bundle's model.
    Model(Vec<f64>),
}

/// The walk so far.
#[derive(Debug)]
pub(in crate::solver) struct Walk {
    dim: usize,
    companion: Companion,
    rules: SearchRules,
    /// Whether the companion's model may be tried.
    assisted: bool,
    site: Option<Site>,
    /// A lower place that a leap left.
    lower: Option<Site>,
    combined: bool,
    endless: bool,
    /// Attempts in a row that found no way down.
    failures: u32,
    /// Model steps left before the next attempt.
    rest: u32,
    /// Whether the last step was one of the model.
    modelled: bool,
    /// How far towards the model's minimiser the next try goes where the risk offers no lines.
    fraction: f64,
}

impl Walk {
    /// A walk with its companion, whose model is tried if `assisted`.
    pub(in crate::solver) fn new(
        dim: usize,
        companion: Companion,
        assisted: bool,
        rules: SearchRules,
    ) -> Self {
        Walk {
            dim,
            rules,
            assisted: assisted && companion.is_bounding(),
            companion,
            site: None,
            lower: None,
            combined: false,
            endless: false,
            failures: 0,
            rest: 0,
            modelled: false,
            fraction: 1.0,
        }
    }

    /// Where the walk stands.
    pub(in crate::solver) fn site(&self) -> Result<&Site, Halt> {
        self.site.as_ref().ok_or(Halt::Stop(Status::Stalled))
    }

    /// The best point so far.
    pub(in crate::solver) fn best(&self) -> Option<&Point> {
        self.lower.as_ref().or(self.site.as_ref()).map(|site| &site.point)
    }

    /// Whether its outputs were combined from others.
    pub(in crate::solver) fn best_is_combined(&self) -> bool {
        self.combined
    }

    /// The bundle that goes along.
    pub(in crate::solver) fn companion(&mut self) -> &mut Companion {
        &mut self.companion
    }

    /// Number of planes.
    pub(in crate::solver) fn planes(&self) -> usize {
        self.companion.len()
    }

    /// Evaluates the start point.
    pub(in crate::solver) fn start(&mut self, run: &mut Run<'_>) -> Result<Step, Halt> {
        let start = run.problem.start_point();
        let (point, planes) = run.evaluate_with_planes(start, self.companion.parts())?;
        let site = Site::new(run, point, &planes)?;
        let objective = site.objective;
        run.offer_objective(objective);
        self.companion.add(run, &site.point.w, planes);
        self.companion.note(run);
        self.site = Some(site);
        Ok(Step { kind: "start", objective, length: None })
    }

    /// Decides what to do next, and solves the master where that is due.
    pub(in crate::solver) fn turn(&mut self, run: &mut Run<'_>) -> Result<Turn, Halt> {
        if run.problem.risk.lines().is_some() {
            run.reserve_final_pass();
        }
        if self.endless {
            // There is nothing to find further down.
            return Err(Halt::Stop(Status::Converged));
        }
        let (steps, share) = CREEPING;
        let gain = self.companion.gain_of(steps).filter(|_| !self.assisted);
        if gain.is_some_and(|gain| gain <= share * run.target()) {
            return Err(Halt::Stop(Status::Stalled));
        }
        let rests = self.assisted && self.rest > 0;
        if !rests && !self.companion.is_due(run) {
            return Ok(Turn::Walk);
        }
        let minimiser = self.companion.solve(run)?;
        // Where every look at the model's minimiser is a call of an oracle, a walk without kinks that
        // still gains is not disturbed.
        let gains = || {
            let gain = self.companion.gain();
            let risk = run.problem.risk;
            risk.is_smooth() && risk.lines().is_none() && gain > WORTHWHILE * run.target()
        };
        let lags = self.assisted && !self.modelled && !gains() && self.companion.lags(run);
        Ok(minimiser.filter(|_| rests || lags).map_or(Turn::Walk, Turn::Model))
    }

    /// A search along a direction, where nothing else is asked for the best that the risk allows: exact
    /// where it offers lines, unless it is smooth, and Wolfe's else. `fresh` says that the direction's length means
    /// nothing.
    pub(in crate::solver) fn search(
        &mut self,
        run: &mut Run<'_>,
        direction: &Direction,
        fresh: bool,
    ) -> Result<Option<Reached>, Halt> {
        let site = self.site.as_ref().ok_or(Halt::Stop(Status::Stalled))?;
        let reach = search::reach(run, site, direction, fresh);
        let (parts, rules) = (self.companion.parts(), self.rules);
        let by_wolfe = match rules.kind {
            LineSearch::Auto => run.problem.risk.is_smooth(),
            kind => kind == LineSearch::Wolfe,
        };
        match run.problem.risk.lines() {
            Some(lines) if by_wolfe => {
                search::wolfe_on_line(run, lines, site, direction, (reach, rules), parts)
            }
            Some(lines) => search::exact(run, lines, site, direction, reach, parts),
            None => {
                let companion = &mut self.companion;
                search::wolfe(run, site, direction, (reach, rules), parts, |run, point, planes| {
                    companion.add(run, &point.w, planes.to_vec());
                })
            }
        }
    }

    /// Goes where a search has led; returns the place left and what to tell.
    pub(in crate::solver) fn arrive(
        &mut self,
        run: &mut Run<'_>,
        reached: Reached,
    ) -> Result<(Site, Step), Halt> {
        let Reached { point, planes, length, combined, endless } = reached;
        let next = Site::new(run, point, &planes)?;
        let objective = next.objective;
        run.offer_objective(objective);
        if combined {
            self.companion.add(run, &next.point.w, planes);
        }
        match &self.lower {
            Some(lower) if lower.objective < objective => self.companion.note_above(run, objective),
            _ => self.companion.note(run),
        }
        self.combined |= combined;
        self.endless = endless;
        self.failures = 0;
        self.modelled = false;
        let left = self.site.replace(next).ok_or(Halt::Stop(Status::Stalled))?;
        if let Some(lower) = &self.lower {
            // Below a place that a leap has left, but on the way down to it.
            run.offer_progress(left.objective - objective);
            if objective < lower.objective {
                self.lower = None;
            }
        }
        Ok((left, Step { kind: "descent", objective, length: Some(length) }))
    }

    /// A step that leads nowhere; the next one will do something else.
    pub(in crate::solver) fn pause(&mut self, run: &Run<'_>) -> Result<Step, Halt> {
        let objective = self.site()?.objective;
        self.companion.note(run);
        Ok(Step { kind: "null", objective, length: None })
    }

    /// A unit step along p, wherever that leads.
    pub(in crate::solver) fn leap(&mut self, run: &mut Run<'_>, p: &[f64]) -> Result<Step, Halt> {
        let w = search::ahead(&self.site()?.point.w, p, 1.0);
        let (point, planes) = run.evaluate_with_planes(w, self.companion.parts())?;
        self.companion.add(run, &point.w, planes.clone());
        // The place that is left may be the lower one.
        self.lower = Some(self.site()?.clone());
        let reached = Reached { point, planes, length: 1.0, combined: false, endless: false };
        Ok(self.arrive(run, reached)?.1)
    }

    /// There was no way down: the model helps on, or the run ends. `size` tells how much a model
    /// of the objective could still gain here.
    pub(in crate::solver) fn stuck(&mut self, run: &Run<'_>, size: f64) -> Result<Step, Halt> {
        let objective = self.site()?.objective;
        if !self.assisted {
            // Where a bound can be had, it alone tells whether this is the end.
            let flat = size <= 1e-12 * (1.0 + objective.abs());
            let done = flat && !self.companion.is_bounding();
            let status = if done { Status::Converged } else { Status::Stalled };
            return Err(Halt::Stop(status));
        }
        self.rest = 2u32.saturating_pow(self.failures).min(LONGEST_REST);
        self.failures += 1;
        self.pause(run)
    }

    /// One evaluation for the minimiser of the model, and if a way down leads towards it, there
    /// the walk goes on: returns the place left.
    pub(in crate::solver) fn model_step(
        &mut self,
        run: &mut Run<'_>,
        w: Vec<f64>,
    ) -> Result<(Option<Site>, Step), Halt> {
        self.rest = self.rest.saturating_sub(1);
        let site = self.site.as_ref().ok_or(Halt::Stop(Status::Stalled))?;
        let parts = self.companion.parts();
        let (cut, planes, length, combined) = match run.problem.risk.lines() {
            Some(lines) => {
                let trial = run.evaluate(w)?;
                let quadratic = run.problem.regularizer.along(&site.point.w, &trial.w);
                let mut length = line::minimise(&mut lines.line(&site.point, &trial), quadratic);
                length = length.min(search::longest_step(&site.point));
                let mut cut = lines.between(&site.point, &trial, length);
                if run.problem.objective(&cut) >= site.objective {
                    (length, cut) = (0.0, lines.between(&site.point, &trial, MU));
                }
                let planes = run.planes(&cut, parts)?;
                (cut, planes, length, true)
            }
            None => {
                // Wherever the objective does not fall on this way, its plane cuts the minimiser
                // off: a short fraction of the way will do as well, and rather leads down.
                let w = between(&site.point.w, &w, self.fraction);
                let (point, planes) = run.evaluate_with_planes(w, parts)?;
                let down = run.objective(&point)? < site.objective;
                let length = if down { self.fraction } else { 0.0 };
                let next = if down { 2.0 * self.fraction } else { 0.5 * self.fraction };
                self.fraction = next.clamp(SHORTEST, 1.0);
                (point, planes, length, false)
            }
        };
        self.modelled = true;
        self.companion.add(run, &cut.w, planes.clone());
        if length == 0.0 {
            let objective = site.objective;
            self.companion.note(run);
            return Ok((None, Step { kind: "model-null", objective, length: Some(0.0) }));
        }
        let next = Site::new(run, cut, &planes)?;
        let objective = next.objective;
        run.offer_objective(objective);
        self.companion.note(run);
        self.combined |= combined;
        let left = self.site.replace(next);
        Ok((left, Step { kind: "model", objective, length: Some(length) }))
    }

    /// Writes everything that later steps depend on.
    pub(in crate::solver) fn save(&self, archive: &mut Archive) {
        self.companion.save(archive);
        let sites = [("site", &self.site), ("lower", &self.lower)];
        for (name, site) in
            sites.into_iter().filter_map(|(name, site)| Some((name, site.as_ref()?)))
        {
            save_point(name, &site.point, archive);
            archive.put_reals(&format!("{name}.gradient"), site.gradient.clone());
            archive.put_reals(&format!("{name}.objective"), vec![site.objective]);
        }
        let flags = [self.combined, self.endless, self.modelled].map(u64::from);
        let counts = [u64::from(self.failures), u64::from(self.rest)];
        archive.put_integers("walk", flags.into_iter().chain(counts));
        archive.put_reals("walk.part", vec![self.fraction]);
    }

    /// Goes back to a saved state.
    pub(in crate::solver) fn load(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.companion.load(archive)?;
        let mut load = |name: &str| -> Result<Site, ArchiveError> {
            let point = load_point(name, self.dim, archive)?;
            let gradient = archive.take_reals(&format!("{name}.gradient"))?;
            if gradient.len() != self.dim {
                return Err(ArchiveError(format!("{name}.gradient")));
            }
            Ok(Site {
                point,
                objective: archive.take_real(&format!("{name}.objective"))?,
                gradient,
            })
        };
        self.site = Some(load("site")?);
        self.lower = load("lower").ok();
        let [combined, endless, modelled, failures, rest] = archive.take_integers("walk")?[..]
        else {
            return Err(ArchiveError("walk".into()));
        };
        (self.combined, self.endless, self.modelled) = (combined != 0, endless != 0, modelled != 0);
        (self.failures, self.rest) = (failures as u32, rest as u32);
        self.fraction = archive.take_real("walk.part")?;
        Ok(())
    }
}
