//! Every risk's promises: planes are derivatives, lie below and touch; parts add up; sparse, dense,
//! f32 and f64 storage, bias columns, weights and repetitions say the same; points combine along
//! lines; the steepest subgradient attains the directional derivative; examples add up.

mod common;

use common::{Kind, Random, Values, cases, difference};
use minorant::linalg::{Design, Matrix, Storage};
use minorant::risk::hinge::Hinge;
use minorant::risk::logistic::Logistic;
use minorant::risk::multiclass_hinge::{MulticlassHinge, uniform_margins};
use minorant::risk::multilabel_hinge::MultilabelHinge;
use minorant::risk::softmax::Softmax;
use minorant::risk::squared_hinge::SquaredHinge;
use minorant::risk::{Cancel, ExampleWeights, LinearRisk, Plane, Point, Risk};

const KINDS: [Kind; 8] = [
    Kind::Hinge,
    Kind::SquaredHinge,
    Kind::Logistic,
    Kind::Multiclass,
    Kind::MulticlassLoss,
    Kind::Softmax,
    Kind::Multilabel,
    Kind::MultilabelLoss,
];

/// What is true of the rows, for every kind of loss.
#[derive(Debug, Clone)]
struct Truth {
    classes: usize,
    labels: Vec<u32>,
    member: Vec<bool>,
    margins: Vec<f64>,
}

impl Truth {
    fn new(random: &mut Random, kind: Kind, n: usize, classes: usize) -> Self {
        let classes = if kind.is_binary() { 2 } else { classes };
        Truth {
            classes,
            labels: (0..n).map(|_| random.between(0, classes - 1) as u32).collect(),
            member: (0..n * classes).map(|_| random.chance(0.4)).collect(),
            margins: common::label_loss(random, classes),
        }
    }

    /// The rows with these numbers.
    fn select(&self, rows: &[usize]) -> Self {
        let sets = rows.iter().flat_map(|&i| &self.member[i * self.classes..][..self.classes]);
        Truth {
            labels: rows.iter().map(|&i| self.labels[i]).collect(),
            member: sets.copied().collect(),
            ..self.clone()
        }
    }

    fn risk<'a>(
        &self,
        kind: Kind,
        design: Design<'a>,
        weights: ExampleWeights,
    ) -> Box<dyn Risk + 'a> {
        let (k, labels) = (self.classes, self.labels.clone());
        let signs = labels.iter().map(|&z| if z == 1 { 1.0 } else { -1.0 }).collect();
        match kind {
            Kind::Hinge => Box::new(LinearRisk::new(design, Hinge::new(signs), weights)),
            Kind::SquaredHinge => {
                Box::new(LinearRisk::new(design, SquaredHinge::new(signs), weights))
            }
            Kind::Logistic => Box::new(LinearRisk::new(design, Logistic::new(signs), weights)),
            Kind::Multiclass => {
                let loss = MulticlassHinge::new(k, labels, uniform_margins(k));
                Box::new(LinearRisk::new(design, loss, weights))
            }
            Kind::MulticlassLoss => {
                let loss = MulticlassHinge::new(k, labels, self.margins.clone());
                Box::new(LinearRisk::new(design, loss, weights))
            }
            Kind::Softmax => Box::new(LinearRisk::new(design, Softmax::new(k, labels), weights)),
            _ => {
                let margins = (kind == Kind::MultilabelLoss).then(|| self.margins.clone());
                let loss = MultilabelHinge::new(k, self.member.clone(), margins);
                Box::new(LinearRisk::new(design, loss, weights))
            }
        }
    }
}

/// A random problem: rows, what is true of them, weights of the examples.
struct Setting {
    kind: Kind,
    rows: Vec<Vec<f64>>,
    d: usize,
    truth: Truth,
    weights: Vec<f64>,
    told: String,
}

impl Setting {
    fn weights(&self) -> ExampleWeights {
        ExampleWeights::Each(self.weights.clone())
    }

    fn risk<'a>(&self, matrix: &'a Matrix<'a>, bias: Option<f64>) -> Box<dyn Risk + 'a> {
        self.truth.risk(self.kind, Design::new(matrix, bias), self.weights())
    }
}

/// Random settings of all kinds, with shapes that exercise every tail of the kernels.
fn each(values: Values, sample: u64, mut work: impl FnMut(&mut Random, Setting)) {
    for kind in KINDS {
        for seed in 0..cases(sample, 20 * sample) {
            let mut random = Random::new(seed * 8 + kind as u64);
            let small = values == Values::Whole;
            let n = random.between(1, if small { 12 } else { 70 });
            let d = random.between(1, if small { 5 } else { 70 });
            let classes = random.between(2, if small { 5 } else { 40 });
            let rows = common::rows(&mut random, n, d, values);
            let truth = Truth::new(&mut random, kind, n, classes);
            let weights = (0..n).map(|_| random.pick(&[0.0, 0.5, 1.0]) * random.unit()).collect();
            let told = format!("{kind:?} seed {seed} n {n} d {d} K {}", truth.classes);
            work(&mut random, Setting { kind, rows, d, truth, weights, told });
        }
    }
}

fn at(risk: &dyn Risk, w: &[f64]) -> Point {
    risk.at(w.to_vec(), &Cancel::new()).expect("a point")
}

fn plane(risk: &dyn Risk, point: &Point) -> Plane {
    risk.planes(point, 1, &Cancel::new()).expect("planes").remove(0)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn along(w: &[f64], p: &[f64], t: f64) -> Vec<f64> {
    w.iter().zip(p).map(|(w, p)| w + t * p).collect()
}

fn assert_close(a: f64, b: f64, tolerance: f64, told: &str) {
    assert!(difference(a, b) <= tolerance, "{told}: {a} against {b}");
}

fn assert_planes_close(a: &Plane, b: &Plane, tolerance: f64, told: &str) {
    assert_close(a.offset, b.offset, tolerance, told);
    for (a, b) in a.normal.iter().zip(&b.normal) {
        assert_close(*a, *b, tolerance, told);
    }
}

/// Weights of a size at which losses are of size about 1.
fn weights_near(random: &mut Random, dim: usize, d: usize) -> Vec<f64> {
    let scale = random.pick(&[0.0, 0.3, 1.0, 3.0]) / (d as f64).sqrt();
    random.normals(dim).iter().map(|w| scale * w).collect()
}

#[test]
fn planes_are_derivatives_below_and_touching() {
    each(Values::Normal, 12, |random, setting| {
        let matrix = common::dense(&setting.rows, setting.d, Storage::F64);
        let risk = setting.risk(&matrix, Some(0.5));
        let w = weights_near(random, risk.dim(), setting.d);
        let point = at(&*risk, &w);
        let plane = plane(&*risk, &point);
        assert_close(dot(&plane.normal, &w) + plane.offset, point.value, 1e-10, &setting.told);
        for _ in 0..5 {
            let v =
                along(&w, &weights_near(random, risk.dim(), setting.d), random.scale(0.01, 3.0));
            let (below, value) = (dot(&plane.normal, &v) + plane.offset, at(&*risk, &v).value);
            assert!(below <= value + 1e-10 * (1.0 + value), "{}: {below} {value}", setting.told);
        }
        let (p, h) = (random.normals(risk.dim()), 1e-5);
        let (above, under) = (at(&*risk, &along(&w, &p, h)), at(&*risk, &along(&w, &p, -h)));
        // Across a kink the two sides differ; there is no derivative to compare with.
        let kink = (above.value - 2.0 * point.value + under.value) / h;
        if kink.abs() < 1e-3 {
            let slope = (above.value - under.value) / (2.0 * h);
            let error = (slope - dot(&plane.normal, &p)).abs();
            let smooth = 1e-6 * (1.0 + slope.abs()) + kink.abs();
            assert!(error <= smooth, "{}: {slope} {}", setting.told, dot(&plane.normal, &p));
        }
    });
}

#[test]
fn smooth_losses_have_exact_derivatives() {
    each(Values::Normal, 12, |random, setting| {
        if !matches!(setting.kind, Kind::SquaredHinge | Kind::Logistic | Kind::Softmax) {
            return;
        }
        let matrix = common::sparse(&setting.rows, setting.d, Storage::F64);
        let risk = setting.risk(&matrix, None);
        let w = weights_near(random, risk.dim(), setting.d);
        let plane = plane(&*risk, &at(&*risk, &w));
        let (p, h) = (random.normals(risk.dim()), 1e-5);
        let value = |t: f64| at(&*risk, &along(&w, &p, t)).value;
        let slope = (value(h) - value(-h)) / (2.0 * h);
        assert_close(slope, dot(&plane.normal, &p), 1e-6, &setting.told);
    });
}

#[test]
fn parts_add_up_and_passes_agree() {
    each(Values::Normal, 10, |random, setting| {
        let matrix = common::sparse(&setting.rows, setting.d, Storage::F64);
        let risk = setting.risk(&matrix, Some(-1.0));
        let w = weights_near(random, risk.dim(), setting.d);
        let point = at(&*risk, &w);
        let whole = plane(&*risk, &point);
        let (most, n) = (risk.max_parts(), setting.rows.len());
        assert!(most.is_power_of_two() && most <= n && n < 2 * most, "{most} parts of {n} rows");
        let drawn = 1 << random.between(0, most.ilog2() as usize);
        for parts in [1, 2.min(most), drawn, most] {
            let planes = risk.planes(&point, parts, &Cancel::new()).expect("planes");
            let (again, same) =
                risk.at_with_planes(w.clone(), parts, &Cancel::new()).expect("planes");
            assert_eq!(planes.len(), parts);
            assert_eq!(again.outputs.here(), point.outputs.here(), "{}", setting.told);
            assert_close(again.value, point.value, 1e-14, &setting.told);
            let mut sum = Plane { normal: vec![0.0; risk.dim()], ..Plane::default() };
            for (plane, same) in planes.iter().zip(&same) {
                assert_planes_close(plane, same, 1e-14, &setting.told);
                sum.offset += plane.offset;
                sum.normal.iter_mut().zip(&plane.normal).for_each(|(sum, a)| *sum += a);
            }
            assert_planes_close(&sum, &whole, 1e-12, &setting.told);
        }
    });
}

#[test]
fn storage_and_bias_do_not_matter() {
    each(Values::Normal, 10, |random, mut setting| {
        // Values that f32 holds exactly.
        for x in setting.rows.iter_mut().flatten() {
            *x = f64::from(*x as f32);
        }
        let (rows, d) = (&setting.rows, setting.d);
        let with_column: Vec<Vec<f64>> =
            rows.iter().map(|row| [&row[..], &[0.75]].concat()).collect();
        let variants = [
            (common::dense(rows, d, Storage::F64), Some(0.75)),
            (common::dense(rows, d, Storage::F32), Some(0.75)),
            (common::sparse(rows, d, Storage::F64), Some(0.75)),
            (common::sparse(rows, d, Storage::Exact), Some(0.75)),
            (common::dense(&with_column, d + 1, Storage::F64), None),
            (common::sparse(&with_column, d + 1, Storage::F32), None),
        ];
        let dim = setting.risk(&variants[0].0, Some(0.75)).dim();
        let w = weights_near(random, dim, d);
        let mut first: Option<(Point, Plane)> = None;
        for (matrix, bias) in &variants {
            let risk = setting.risk(matrix, *bias);
            let point = at(&*risk, &w);
            let plane = plane(&*risk, &point);
            let (value, same) = first.get_or_insert_with(|| (point.clone(), plane.clone()));
            assert_close(point.value, value.value, 1e-12, &setting.told);
            assert_planes_close(&plane, same, 1e-12, &setting.told);
        }
    });
}

#[test]
fn weights_are_repetitions() {
    each(Values::Normal, 10, |random, setting| {
        let n = setting.rows.len();
        let counts: Vec<usize> =
            (0..n).map(|i| random.between(0, 3) + usize::from(i == 0)).collect();
        let order: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, counts[i])).collect();
        let matrix = common::dense(&setting.rows, setting.d, Storage::F64);
        let repeated = matrix.select_rows(&order);
        let counts: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        let class = |z: u32| [1.0, 0.5, 2.0][z as usize % 3];
        let of = |truth: &Truth| truth.labels.iter().map(|&z| class(z)).collect::<Vec<f64>>();
        let select = setting.truth.select(&order);
        let once = ExampleWeights::new(&counts, &of(&setting.truth));
        let often = ExampleWeights::new(&vec![1.0; order.len()], &of(&select));
        let weighted = setting.truth.risk(setting.kind, Design::new(&matrix, None), once);
        let plain = select.risk(setting.kind, Design::new(&repeated, None), often);
        let w = weights_near(random, weighted.dim(), setting.d);
        let (one, other) = (at(&*weighted, &w), at(&*plain, &w));
        assert_close(one.value, other.value, 1e-12, &setting.told);
        let (one, other) = (plane(&*weighted, &one), plane(&*plain, &other));
        assert_planes_close(&one, &other, 1e-12, &setting.told);
    });
}

#[test]
fn points_combine_along_lines() {
    each(Values::Normal, 10, |random, setting| {
        let matrix = common::sparse(&setting.rows, setting.d, Storage::F64);
        let risk = setting.risk(&matrix, Some(1.0));
        let from = at(&*risk, &weights_near(random, risk.dim(), setting.d));
        let to = at(&*risk, &weights_near(random, risk.dim(), setting.d));
        let lines = risk.lines().expect("lines");
        let line = lines.line(&from, &to);
        for t in [0.0, 1.0, 0.1, random.unit(), 2.0 + random.unit()] {
            let point = lines.between(&from, &to, t);
            let fresh = at(&*risk, &point.w);
            assert_close(point.value, fresh.value, 1e-12, &setting.told);
            assert_close(line.value(t), fresh.value, 1e-12, &setting.told);
            for (a, b) in point.outputs.here().iter().zip(fresh.outputs.here()) {
                assert_close(*a, *b, 1e-12, &setting.told);
            }
            // The slopes bracket what small steps to either side give.
            let (slopes, h) = (line.slopes(t), 1e-6);
            let step = |t: f64| (line.value(t) - fresh.value) / h;
            let (right, left) = (step(t + h), -step(t - h));
            let close = 1e-4 * (1.0 + right.abs() + left.abs());
            assert!(slopes.left <= slopes.right + 1e-9, "{}: {slopes:?}", setting.told);
            assert!(slopes.right <= right + close, "{}: {slopes:?} {right}", setting.told);
            assert!(slopes.left >= left - close, "{}: {slopes:?} {left}", setting.told);
        }
        let zero = lines.between(&from, &to, 0.0);
        assert_eq!(zero.w, from.w);
        assert_eq!(zero.outputs.here(), from.outputs.here());
    });
}

#[test]
fn steepest_subgradients_attain_the_directional_derivative() {
    // Whole numbers: kinks everywhere.
    each(Values::Whole, 60, |random, setting| {
        let matrix = common::dense(&setting.rows, setting.d, Storage::F64);
        let risk = setting.risk(&matrix, Some(1.0));
        let whole = |random: &mut Random| (random.between(0, 2) as f64) - 1.0;
        let w: Vec<f64> = (0..risk.dim()).map(|_| whole(random)).collect();
        let p: Vec<f64> = (0..risk.dim()).map(|_| whole(random)).collect();
        let (from, to) = (at(&*risk, &w), at(&*risk, &along(&w, &p, 1.0)));
        let oracle = risk.subdifferential().expect("a subdifferential");
        let mut normal = plane(&*risk, &from).normal;
        let kinks = oracle.kinks(&from);
        oracle.steepen(&from, &kinks, &p, &mut normal, &Cancel::new()).expect("a subgradient");
        let steepest = dot(&normal, &p);
        let slopes = risk.lines().expect("lines").line(&from, &to).slopes(0.0);
        assert_close(steepest, slopes.right, 1e-10, &setting.told);
        // It is a subgradient as any other.
        for _ in 0..6 {
            let v = along(&w, &random.normals(risk.dim()), random.scale(0.01, 3.0));
            let rise = dot(&normal, &v) - dot(&normal, &w);
            let (below, value) = (from.value + rise, at(&*risk, &v).value);
            assert!(below <= value + 1e-10 * (1.0 + value), "{}: {below} {value}", setting.told);
        }
        // No other subgradient is steeper: those just beside w are subgradients at w.
        if matches!(setting.kind, Kind::SquaredHinge | Kind::Logistic | Kind::Softmax) {
            return;
        }
        for _ in 0..10 {
            let near = along(&w, &random.normals(risk.dim()), 1e-6);
            let other = plane(&*risk, &at(&*risk, &near));
            let slope = dot(&other.normal, &p);
            assert!(slope <= steepest + 1e-10, "{}: {slope} {steepest}", setting.told);
        }
    });
}

#[test]
fn examples_add_up() {
    each(Values::Normal, 10, |random, setting| {
        let matrix = common::sparse(&setting.rows, setting.d, Storage::F64);
        let risk = setting.risk(&matrix, Some(2.0));
        let w = weights_near(random, risk.dim(), setting.d);
        let point = at(&*risk, &w);
        let whole = plane(&*risk, &point);
        let examples = risk.examples().expect("examples");
        assert_eq!(examples.len(), setting.rows.len());
        let mut gradient = vec![0.0; risk.dim()];
        let value: f64 =
            (0..examples.len()).map(|i| examples.add_subgradient(i, &w, -2.0, &mut gradient)).sum();
        assert_close(value, point.value, 1e-12, &setting.told);
        for (sum, a) in gradient.iter().zip(&whole.normal) {
            assert_close(-0.5 * sum, *a, 1e-12, &setting.told);
        }
    });
}

/// Where slopes are far below the rounding of 1, offsets are right to their own last digits: what a bound
/// allows for rounding is a share of them.
#[test]
fn offsets_of_tiny_slopes_keep_their_digits() {
    let row = Matrix::dense(1, 1, vec![1.0].into()).unwrap();
    let design = Design::new(&row, None);
    for exponent in 9..40 {
        let size = 1.37 * 10f64.powi(-exponent);
        let expected = size * (1.0 - minorant::linalg::elementary::ln(size));
        let weights = || ExampleWeights::mean(1);
        let logistic = LinearRisk::new(design, Logistic::new(vec![1.0]), weights());
        let softmax = LinearRisk::new(design, Softmax::new(2, vec![0]), weights());
        let offset = |risk: &dyn Risk, slopes: &mut [f64]| {
            let plane = risk.duals().unwrap().plane_with_slopes(slopes, &Cancel::new()).unwrap();
            plane.unwrap().offset
        };
        for found in [offset(&logistic, &mut [-size]), offset(&softmax, &mut [-size, size])] {
            assert!(
                (found - expected).abs() <= 1e-8 * expected,
                "{size:e}: {found:e} {expected:e}"
            );
        }
    }
}
