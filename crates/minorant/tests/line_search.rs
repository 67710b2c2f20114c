//! The exact line search against plain forms of the published algorithms (Algorithms 3, 4 and 5 of
//! Yu et al., with their misprints mended) and against brute force over all breakpoints, along
//! lines with ties, parallel pieces, flat optima and breakpoints at 0 and 1.

mod common;

use common::{Random, cases};
use minorant::linalg::{Design, Matrix};
use minorant::line::{Breakpoint, Envelope, Pieces, Quadratic, minimise};
use minorant::risk::hinge::Hinge;
use minorant::risk::logistic::Logistic;
use minorant::risk::multiclass_hinge::MulticlassHinge;
use minorant::risk::multilabel_hinge::MultilabelHinge;
use minorant::risk::softmax::Softmax;
use minorant::risk::squared_hinge::SquaredHinge;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk, Lines, Loss, Point, Risk};

/// Lines b + η a of one example.
type Affines = Vec<(f64, f64)>;

/// Outputs at the start and along the direction, weights and regularizer of a search.
#[derive(Debug, Clone)]
struct Search {
    outputs: usize,
    start: Vec<f64>,
    end: Vec<f64>,
    weights: Vec<f64>,
    quadratic: Quadratic,
}

impl Search {
    fn examples(&self) -> usize {
        self.weights.len()
    }

    /// f and d of an example; d is rounded as the library rounds it.
    fn example(&self, i: usize) -> Vec<(f64, f64)> {
        let span = i * self.outputs..(i + 1) * self.outputs;
        let both = self.start[span.clone()].iter().zip(&self.end[span]);
        both.map(|(start, end)| (*start, end - start)).collect()
    }

    /// Calls `work` with the risk of `loss` and the points at the line's start and at η = 1.
    fn with_line<L: Loss, T>(
        &self,
        loss: L,
        work: impl FnOnce(&dyn Lines, &Point, &Point) -> T,
    ) -> T {
        // One feature a row: outputs are weights.
        let n = self.examples();
        let identity: Vec<f64> = (0..n * n).map(|at| f64::from(at / n == at % n)).collect();
        let matrix = Matrix::dense(n, n, identity.into()).expect("a matrix");
        let weights = ExampleWeights::Each(self.weights.clone());
        let risk = LinearRisk::new(Design::new(&matrix, None), loss, weights);
        let at = |w: &[f64]| risk.at(w.to_vec(), &Cancel::new()).expect("a point");
        let (from, to) = (at(&self.start), at(&self.end));
        work(risk.lines().expect("lines"), &from, &to)
    }

    fn minimise<L: Loss>(&self, loss: L) -> f64 {
        self.with_line(loss, |lines, from, to| minimise(&mut lines.line(from, to), self.quadratic))
    }
}

/// Where numbers come from: small whole numbers (exact ties), tenths (ties but for rounding), any.
#[derive(Debug, Clone, Copy)]
enum Grid {
    Whole,
    Tenths,
    Any,
}

fn number(random: &mut Random, grid: Grid) -> f64 {
    match grid {
        Grid::Whole => random.between(0, 6) as f64 - 3.0,
        Grid::Tenths => (random.between(0, 60) as f64 - 30.0) / 10.0,
        Grid::Any => 2.0 * random.normal(),
    }
}

fn search(random: &mut Random, outputs: usize, grid: Grid) -> Search {
    let n = random.between(1, 12);
    let start: Vec<f64> = (0..n * outputs).map(|_| number(random, grid)).collect();
    let end = start.iter().map(|&f| if random.chance(0.2) { f } else { number(random, grid) });
    let end = end.collect();
    let exact = matches!(grid, Grid::Whole);
    let weight = |random: &mut Random| {
        if exact { random.pick(&[0.0, 0.25, 0.5, 1.0]) } else { random.unit() }
    };
    let weights = (0..n).map(|_| weight(random)).collect();
    let curvature = random.pick(&[0.0, 0.125, 0.5, 4.0]);
    let slope = random.pick(&[-1.0, -0.25, -0.125, 0.0, 0.5]);
    Search { outputs, start, end, weights, quadratic: Quadratic { slope, curvature } }
}

fn grids() -> [Grid; 3] {
    [Grid::Whole, Grid::Tenths, Grid::Any]
}

/// The slope at a point where it is unique, of Σ weight · power-th power of the largest line.
fn slope(search: &Search, lines: &[Affines], square: bool, eta: f64) -> f64 {
    let mut sum = search.quadratic.slope + search.quadratic.curvature * eta;
    for (lines, weight) in lines.iter().zip(&search.weights) {
        let at = |line: &&(f64, f64)| line.0 + eta * line.1;
        let top = lines.iter().max_by(|a, b| at(a).total_cmp(&at(b))).expect("a line");
        sum += weight * top.1 * if square { 2.0 * at(&top) } else { 1.0 };
    }
    sum
}

fn value(search: &Search, lines: &[Affines], square: bool, eta: f64) -> f64 {
    let Quadratic { slope, curvature } = search.quadratic;
    let mut sum = slope * eta + 0.5 * curvature * eta * eta;
    for (lines, weight) in lines.iter().zip(&search.weights) {
        let top = lines.iter().map(|l| l.0 + eta * l.1).fold(f64::NEG_INFINITY, f64::max);
        sum += weight * if square { top * top } else { top };
    }
    sum
}

/// What is taken for zero: slopes are sums of a few numbers of size about 10.
const ZERO: f64 = 1e-11;

/// The least minimiser, by looking at every stretch between neighbouring crossings of any two
/// lines of an example.
fn brute_force(search: &Search, lines: &[Affines], square: bool) -> f64 {
    let mut breakpoints = vec![0.0];
    for lines in lines {
        for (at, one) in lines.iter().enumerate() {
            for other in lines[..at].iter().filter(|other| other.1 != one.1) {
                let crossing = (other.0 - one.0) / (one.1 - other.1);
                breakpoints.extend(Some(crossing).filter(|&eta| eta > 0.0));
            }
        }
    }
    breakpoints.sort_by(f64::total_cmp);
    breakpoints.dedup_by(|a, b| *a - *b < 1e-9 * (1.0 + *b));
    for (at, &lo) in breakpoints.iter().enumerate() {
        let hi = breakpoints.get(at + 1).copied();
        // Near its beginning, where the numbers are small.
        let width = hi.map_or(1.0, |hi| (hi - lo).min(1.0 + lo));
        let near = slope(search, lines, square, lo + 0.25 * width);
        let far = slope(search, lines, square, lo + 0.75 * width);
        let rate = (far - near) / (0.5 * width);
        let first = near - 0.25 * width * rate;
        if first >= -ZERO {
            return lo;
        }
        let root = lo + first.abs() / rate.max(0.0);
        if hi.is_none_or(|hi| root < hi) && (rate > 0.0 || hi.is_none()) {
            return root;
        }
    }
    unreachable!("the last stretch has no end")
}

/// Algorithm 3: the exact search for binary hinges, from margins f and their changes Δf.
fn algorithm_3(search: &Search, f: &[f64], df: &[f64]) -> f64 {
    let Quadratic { slope, curvature: h } = search.quadratic;
    let mut points: Vec<(f64, usize)> = (0..f.len())
        .filter(|&i| df[i] != 0.0)
        .map(|i| ((1.0 - f[i]) / df[i], i))
        .filter(|(eta, _)| *eta > 0.0)
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let inside = points.first().map_or(1.0, |first| first.0 / 2.0);
    let active: Vec<bool> = (0..f.len()).map(|i| f[i] + inside * df[i] < 1.0).collect();
    let term = |i: usize| search.weights[i] * df[i];
    let mut rho = (0..f.len()).filter(|&i| active[i]).map(term).sum::<f64>() - slope;
    let (mut eta, mut before, mut j) = (0.0, 0.0, 0);
    let mut g = -rho;
    while g < -ZERO {
        before = rho;
        let Some(&(next, _)) = points.get(j) else {
            eta = f64::INFINITY;
            break;
        };
        eta = next;
        while points.get(j).is_some_and(|point| point.0 == eta) {
            let i = points[j].1;
            rho += if active[i] { -term(i) } else { term(i) };
            j += 1;
        }
        g = eta * h - rho;
    }
    if before == 0.0 { eta } else { eta.min(before / h) }
}

/// Algorithm 4 on [0, ∞): where the maximum's pieces begin, and their slopes.
fn algorithm_4(lines: &Affines) -> Vec<(f64, f64)> {
    let mut order = lines.clone();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut stack = vec![(0.0, order[0])];
    for &(b, a) in &order[1..] {
        let mut meets = None;
        while let Some(&(eta, (top_b, top_a))) = stack.last() {
            if a <= top_a {
                meets = None;
                break;
            }
            let crossing = (top_b - b) / (a - top_a);
            meets = Some(crossing);
            if crossing > eta || stack.len() == 1 {
                break;
            }
            stack.pop();
        }
        stack.extend(meets.map(|meets| (meets, (b, a))));
    }
    stack.into_iter().map(|(eta, (_, a))| (eta, a)).collect()
}

/// Algorithm 5: the exact search over sums of such maxima.
fn algorithm_5(search: &Search, lines: &[Affines]) -> f64 {
    let Quadratic { slope, curvature: h } = search.quadratic;
    let stacks: Vec<Vec<(f64, f64)>> = lines.iter().map(algorithm_4).collect();
    let mut next = vec![1; stacks.len()];
    let term = |i: usize, at: usize| search.weights[i] * stacks[i][at].1;
    let mut rho = slope + (0..stacks.len()).map(|i| term(i, 0)).sum::<f64>();
    let (mut eta, mut before) = (0.0, 0.0);
    let mut g = rho;
    while g < -ZERO {
        before = rho;
        let tops = (0..stacks.len()).filter_map(|i| Some(stacks[i].get(next[i])?.0));
        let Some(first) = tops.reduce(f64::min) else {
            eta = f64::INFINITY;
            break;
        };
        eta = first;
        for i in 0..stacks.len() {
            while stacks[i].get(next[i]).is_some_and(|piece| piece.0 == eta) {
                rho += term(i, next[i]) - term(i, next[i] - 1);
                next[i] += 1;
            }
        }
        g = rho + eta * h;
    }
    if before == 0.0 { eta } else { eta.min(-before / h) }
}

/// Two answers are the same step, or equally good ones where rounding decides between them.
fn assert_same(
    search: &Search,
    lines: &[Affines],
    square: bool,
    found: f64,
    other: f64,
    who: &str,
) {
    let told = || format!("found {found}, {who} says {other}: {search:?}");
    assert_eq!(found.is_finite(), other.is_finite(), "{}", told());
    if !found.is_finite() || (found - other).abs() <= 1e-8 * (1.0 + other) {
        return;
    }
    let middle = slope(search, lines, square, 0.5 * (found + other));
    assert!(middle.abs() <= 10.0 * ZERO, "slope {middle} in between: {}", told());
    // Far out, slopes that are nothing but rounding add up to something.
    if found.max(other) > 1e6 {
        return;
    }
    let (a, b) = (value(search, lines, square, found), value(search, lines, square, other));
    assert!((a - b).abs() <= 1e-10 * (1.0 + a.abs()), "{}", told());
}

fn signs(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.pick(&[1.0, -1.0])).collect()
}

fn binary_lines(search: &Search, signs: &[f64]) -> Vec<Affines> {
    let each = (0..search.examples()).map(|i| {
        let (f, d) = search.example(i)[0];
        vec![(0.0, 0.0), (1.0 - signs[i] * f, -signs[i] * d)]
    });
    each.collect()
}

#[test]
fn binary_hinge() {
    for seed in 0..cases(3000, 50_000) {
        let mut random = Random::new(seed);
        let search = search(&mut random, 1, grids()[seed as usize % 3]);
        let signs = signs(&mut random, search.examples());
        let lines = binary_lines(&search, &signs);
        let found = search.minimise(Hinge::new(signs.clone()));
        let (f, df): (Vec<f64>, Vec<f64>) = (0..search.examples())
            .map(|i| (signs[i] * search.example(i)[0].0, signs[i] * search.example(i)[0].1))
            .unzip();
        assert_same(&search, &lines, false, found, algorithm_3(&search, &f, &df), "Algorithm 3");
        assert_same(&search, &lines, false, found, brute_force(&search, &lines, false), "force");
    }
}

#[test]
fn squared_hinge() {
    for seed in 0..cases(3000, 50_000) {
        let mut random = Random::new(seed);
        let search = search(&mut random, 1, grids()[seed as usize % 3]);
        let signs = signs(&mut random, search.examples());
        let lines = binary_lines(&search, &signs);
        let found = search.minimise(SquaredHinge::new(signs));
        assert_same(&search, &lines, true, found, brute_force(&search, &lines, true), "force");
    }
}

#[test]
fn multiclass_hinge() {
    for seed in 0..cases(3000, 50_000) {
        let mut random = Random::new(seed);
        let classes = random.between(2, 6);
        let search = search(&mut random, classes, grids()[seed as usize % 3]);
        let labels: Vec<u32> =
            (0..search.examples()).map(|_| random.between(0, classes - 1) as u32).collect();
        let margins = if random.chance(0.5) {
            minorant::risk::multiclass_hinge::uniform_margins(classes)
        } else {
            common::label_loss(&mut random, classes)
        };
        let lines: Vec<Affines> = (0..search.examples())
            .map(|i| {
                let (own, label) = (search.example(i), labels[i] as usize);
                let line = |z: usize| {
                    let constant = margins[label * classes + z] + (own[z].0 - own[label].0);
                    (constant, own[z].1 - own[label].1)
                };
                (0..classes).map(line).collect()
            })
            .collect();
        let found = search.minimise(MulticlassHinge::new(classes, labels, margins));
        assert_same(&search, &lines, false, found, algorithm_5(&search, &lines), "Algorithm 5");
        assert_same(&search, &lines, false, found, brute_force(&search, &lines, false), "force");
    }
}

#[test]
fn multilabel_hinge() {
    for seed in 0..cases(3000, 50_000) {
        let mut random = Random::new(seed);
        let classes = random.between(2, 6);
        let search = search(&mut random, classes, grids()[seed as usize % 3]);
        let member: Vec<bool> =
            (0..search.examples() * classes).map(|_| random.chance(0.4)).collect();
        let ones = minorant::risk::multiclass_hinge::uniform_margins(classes);
        let margins = match random.between(0, 2) {
            0 => Some(common::label_loss(&mut random, classes)),
            _ => None,
        };
        let lines: Vec<Affines> = (0..search.examples())
            .map(|i| {
                let (own, member) = (search.example(i), &member[i * classes..]);
                let margins = margins.as_ref().unwrap_or(&ones);
                let mut lines = vec![(0.0, 0.0)];
                for z in (0..classes).filter(|&z| member[z]) {
                    for other in (0..classes).filter(|&z| !member[z]) {
                        let constant = margins[z * classes + other] + (own[other].0 - own[z].0);
                        lines.push((constant, own[other].1 - own[z].1));
                    }
                }
                lines
            })
            .collect();
        let loss = MultilabelHinge::new(classes, member.clone(), margins.clone());
        let found = search.minimise(loss.clone());
        assert_same(&search, &lines, false, found, algorithm_5(&search, &lines), "Algorithm 5");
        assert_same(&search, &lines, false, found, brute_force(&search, &lines, false), "force");
        if margins.is_some() {
            continue;
        }
        // Eq. 55 with Δ = 1 is Eq. 54; its line has at most |Z| pieces.
        let general = MultilabelHinge::new(classes, member, Some(ones));
        assert_same(&search, &lines, false, found, search.minimise(general), "Eq. 55");
        for i in 0..search.examples() {
            let (f, d): (Vec<f64>, Vec<f64>) = search.example(i).into_iter().unzip();
            let pieces = breakpoints(&loss, i, &f, &d).len() + 1;
            assert!(pieces <= classes, "{pieces} pieces of {classes} labels: {search:?}");
        }
    }
}

fn breakpoints(loss: &dyn Loss, example: usize, f: &[f64], d: &[f64]) -> Vec<Breakpoint> {
    let (mut start, mut found, mut envelope) = ([0.0; 2], Vec::new(), Envelope::default());
    let range = (0.0, f64::INFINITY);
    let mut pieces = Pieces::new(range, 1.0, &mut start, &mut found, &mut envelope);
    loss.pieces().expect("pieces").add_pieces(example, f, d, &mut pieces);
    found
}

fn check_smooth<L: Loss>(search: &Search, loss: L) {
    search.with_line(loss, |lines, from, to| {
        let mut line = lines.line(from, to);
        let eta = minimise(&mut line, search.quadratic);
        let Quadratic { slope, curvature } = search.quadratic;
        let at = |eta: f64| line.slopes(eta).right + slope + curvature * eta;
        let first = at(0.0);
        if first >= 0.0 {
            assert_eq!(eta, 0.0);
        } else if eta.is_finite() {
            let scale = 1.0 + first.abs();
            assert!(at(eta).abs() <= 1e-9 * scale, "{search:?}: slope {} at {eta}", at(eta));
        } else {
            assert!(at(1e6) <= 0.0, "{search:?}: an infinite step");
        }
    });
}

#[test]
fn smooth_losses() {
    for seed in 0..cases(600, 10_000) {
        let mut random = Random::new(seed);
        let binary = search(&mut random, 1, grids()[seed as usize % 3]);
        let signs = signs(&mut random, binary.examples());
        check_smooth(&binary, Logistic::new(signs));
        let classes = random.between(2, 6);
        let several = search(&mut random, classes, grids()[seed as usize % 3]);
        let labels: Vec<u32> =
            (0..several.examples()).map(|_| random.between(0, classes - 1) as u32).collect();
        check_smooth(&several, Softmax::new(classes, labels));
    }
}

fn binary_step(start: &[f64], end: &[f64], slope: f64, curvature: f64) -> f64 {
    let search = Search {
        outputs: 1,
        start: start.to_vec(),
        end: end.to_vec(),
        weights: vec![1.0; start.len()],
        quadratic: Quadratic { slope, curvature },
    };
    search.minimise(Hinge::new(vec![1.0; start.len()]))
}

#[test]
fn edges() {
    // No breakpoint after 0 and nothing to gain; a direction of zero; no descent.
    assert_eq!(binary_step(&[2.0], &[3.0], 0.0, 1.0), 0.0);
    assert_eq!(binary_step(&[0.0], &[0.0], 0.0, 0.0), 0.0);
    assert_eq!(binary_step(&[0.0], &[-1.0], 0.0, 0.0), 0.0);
    // No breakpoint after 0, yet the regularizer falls.
    assert_eq!(binary_step(&[2.0], &[3.0], -1.0, 0.5), 2.0);
    assert_eq!(binary_step(&[2.0], &[3.0], -1.0, 0.0), f64::INFINITY);
    // Breakpoints at exactly 0, 1, and past it; the minimum at a kink and inside a stretch.
    assert_eq!(binary_step(&[1.0], &[2.0], -1.0, 0.5), 2.0);
    assert_eq!(binary_step(&[1.0], &[0.0], -0.5, 0.5), 0.0);
    assert_eq!(binary_step(&[0.0], &[1.0], 0.0, 0.0), 1.0);
    assert_eq!(binary_step(&[0.0], &[1.0], 0.0, 0.5), 1.0);
    assert_eq!(binary_step(&[0.0], &[1.0], 0.0, 4.0), 0.25);
    assert_eq!(binary_step(&[0.0], &[0.25], 0.0, 0.0), 4.0);
    // A flat optimum: the least minimiser.
    assert_eq!(binary_step(&[0.0, 5.0], &[1.0, 4.0], 0.0, 0.0), 1.0);
    assert_eq!(binary_step(&[0.0, 0.0], &[0.5, -1.0], 0.5, 0.0), 0.0);
    // Equal breakpoints of several examples.
    assert_eq!(binary_step(&[0.0, 0.0, -1.0], &[0.5, 0.5, 0.0], 0.0, 0.0), 2.0);
}

/// A kink of the risk at η = 1, but for rounding: where the model's minimiser usually is.
#[test]
fn kinks_at_the_trial_point() {
    for seed in 0..cases(3000, 50_000) {
        let mut random = Random::new(seed);
        let classes = 3;
        let level = number(&mut random, Grid::Any);
        let start: Vec<f64> = (0..classes).map(|_| number(&mut random, Grid::Tenths)).collect();
        // Classes 1 and 2 meet at η = 1 (and with class 0, of margin 0, too).
        let end = vec![level + 1.0, level, level];
        let quadratic = Quadratic { slope: -0.1 * random.unit(), curvature: 0.01 };
        let search = Search { outputs: classes, start, end, weights: vec![1.0], quadratic };
        let own = search.example(0);
        let line = |z: usize| (f64::from(z != 0) + (own[z].0 - own[0].0), own[z].1 - own[0].1);
        let lines: Vec<Affines> = vec![(0..classes).map(line).collect()];
        let force = brute_force(&search, &lines, false);
        let margins = minorant::risk::multiclass_hinge::uniform_margins(classes);
        let found = search.minimise(MulticlassHinge::new(classes, vec![0], margins));
        assert_same(&search, &lines, false, found, force, "force");
        let member = vec![true, false, false];
        let found = search.minimise(MultilabelHinge::new(classes, member, None));
        assert_same(&search, &lines, false, found, force, "force");
    }
}
