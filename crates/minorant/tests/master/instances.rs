//! Random programs for the master, their referee Clarabel, and the checks that every solution must
//! pass. What is asserted of the solutions beyond that is said in the tests.

use std::time::Instant;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SupportedConeT, ZeroConeT,
};
use minorant::master::{Gram, Master, MasterSolution};

/// A small generator (splitmix64): the instances must not depend on any library's stream.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
    /// Roughly normal, with variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

pub(crate) struct Instance {
    pub(crate) parts: usize,
    pub(crate) part_of: Vec<usize>,
    pub(crate) normals: Vec<Vec<f64>>,
    pub(crate) offsets: Vec<f64>,
    pub(crate) curvature: f64,
}

impl Instance {
    pub(crate) fn gram(&self) -> Gram {
        let mut gram = Gram::new();
        for j in 0..self.normals.len() {
            let row: Vec<f64> =
                (0..=j).map(|k| product(&self.normals[j], &self.normals[k])).collect();
            gram.push(&row);
        }
        gram
    }

    pub(crate) fn master(&self) -> Master {
        let mut master = Master::new(self.parts);
        for &part in &self.part_of {
            master.push(part);
        }
        master
    }

    pub(crate) fn solve(&self, master: &mut Master, gram: &Gram, gap: f64) -> MasterSolution {
        let solution = master.solve(gram, &self.offsets, self.curvature, gap);
        assert_feasible(master, self.parts);
        assert_honest(self, gram, master, &solution);
        solution
    }

    pub(crate) fn swap(&mut self, j: usize, k: usize) {
        self.part_of.swap(j, k);
        self.normals.swap(j, k);
        self.offsets.swap(j, k);
    }
}

pub(crate) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// A random program of 1 to 300 planes.
pub(crate) fn instance(seed: u64) -> Instance {
    let mut random = Random(seed.wrapping_mul(0x1234_5678_9abc_def1).wrapping_add(17));
    let planes = match random.below(4) {
        0 => 1 + random.below(20),
        1 => 1 + random.below(100),
        _ => 1 + random.below(300),
    };
    let parts = if random.below(2) == 0 { 1 } else { 1 + random.below(16.min(planes)) };
    let dimension = match random.below(3) {
        0 => 2 + random.below(8),
        1 => 2 + random.below(60),
        _ => 2 + random.below(400),
    };
    let curvature = 10f64.powf(random.between(-2.0, 5.0));
    // Normals around a common one (as in a bundle), or around the origin.
    let common = if random.below(2) == 0 { 0.0 } else { random.between(0.1, 3.0) };
    let spread = 1.0 / (dimension as f64).sqrt();
    let centre: Vec<f64> = (0..dimension).map(|_| common * spread * random.normal()).collect();
    let twins = random.between(0.0, 0.5);
    // Offsets as a bundle has them (tangents at points of the scale of the solution), or any.
    let tangent = random.below(2) == 0;
    let mut normals: Vec<Vec<f64>> = Vec::new();
    let mut offsets: Vec<f64> = Vec::new();
    for j in 0..planes {
        let like = (j > 0 && random.unit() < twins).then(|| random.below(j));
        let normal: Vec<f64> = match (like, random.below(4)) {
            (Some(k), 0) => normals[k].clone(),
            (Some(k), 1) => {
                let factor = random.between(0.5, 2.0);
                normals[k].iter().map(|x| factor * x).collect()
            }
            (Some(k), _) => {
                let distance = spread * 10f64.powf(random.between(-10.0, -3.0));
                normals[k].iter().map(|x| x + distance * random.normal()).collect()
            }
            (None, _) => centre.iter().map(|c| c + spread * random.normal()).collect(),
        };
        let offset = match like {
            Some(k) if random.below(2) == 0 => offsets[k],
            _ if tangent => 1.0 - random.unit() * product(&normal, &normal).sqrt(),
            _ => random.unit(),
        };
        normals.push(normal);
        offsets.push(offset);
    }
    let part_of = (0..planes).map(|j| if j < parts { j } else { random.below(parts) }).collect();
    Instance { parts, part_of, normals, offsets, curvature }
}

/// Clarabel's optimal value and its seconds. `by_normals` states the program with the aggregated
/// normal as further variables: slower, but without the rounding of the inner products.
pub(crate) fn referee(instance: &Instance, gram: &Gram, by_normals: bool) -> (f64, f64) {
    let planes = gram.len();
    let (parts, kappa) = (instance.parts, instance.curvature);
    let dimension = if by_normals { instance.normals[0].len() } else { 0 };
    let mut quadratic = Entries::default();
    for j in 0..planes {
        for i in 0..if by_normals { 0 } else { j + 1 } {
            quadratic.add(i, j, kappa * gram.get(i, j));
        }
    }
    // Equalities: the sums of the parts, and w = Aᵀ α.
    let mut rows = Entries::default();
    for j in 0..planes {
        rows.add(instance.part_of[j], j, 1.0);
        for i in 0..dimension {
            rows.add(parts + i, j, instance.normals[j][i]);
        }
        rows.add(parts + dimension + j, j, -1.0);
    }
    for i in 0..dimension {
        quadratic.add(planes + i, planes + i, kappa);
        rows.add(parts + i, planes + i, -1.0);
    }
    let variables = planes + dimension;
    let p = quadratic.matrix(variables, variables);
    let a = rows.matrix(parts + variables, variables);
    let mut linear: Vec<f64> = instance.offsets.iter().map(|b| -b).collect();
    linear.resize(variables, 0.0);
    let mut b = vec![1.0; parts];
    b.resize(parts + variables, 0.0);
    let cones: Vec<SupportedConeT<f64>> =
        vec![ZeroConeT(parts + dimension), NonnegativeConeT(planes)];
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-9)
        .tol_gap_rel(1e-9)
        .build()
        .expect("valid settings");
    let start = Instant::now();
    let mut solver = DefaultSolver::new(&p, &linear, &a, &b, &cones, settings).expect("a program");
    solver.solve();
    (-solver.solution.obj_val, start.elapsed().as_secs_f64())
}

#[derive(Default)]
struct Entries(Vec<usize>, Vec<usize>, Vec<f64>);

impl Entries {
    fn add(&mut self, row: usize, column: usize, value: f64) {
        self.0.push(row);
        self.1.push(column);
        self.2.push(value);
    }
    fn matrix(self, rows: usize, columns: usize) -> CscMatrix<f64> {
        CscMatrix::new_from_triplets(rows, columns, self.0, self.1, self.2)
    }
}

pub(crate) fn assert_feasible(master: &Master, parts: usize) {
    let mut sums = vec![0.0; parts];
    for (j, &weight) in master.weights().iter().enumerate() {
        assert!(weight >= 0.0, "weight {weight}");
        sums[master.part_of(j)] += weight;
    }
    for sum in sums {
        assert!((sum - 1.0).abs() < 1e-14, "sum {sum}");
    }
}

/// The reported value and gap are those of the weights, but for rounding.
pub(crate) fn assert_honest(
    instance: &Instance,
    gram: &Gram,
    master: &Master,
    solution: &MasterSolution,
) {
    let (weights, kappa) = (master.weights(), instance.curvature);
    let (mut value, mut mean, mut largest) = (0.0, 0.0, 0.0f64);
    let mut top = vec![f64::NEG_INFINITY; instance.parts];
    for j in 0..gram.len() {
        let (b, along) = (instance.offsets[j], product(gram.row(j), weights));
        value += weights[j] * (b - 0.5 * kappa * along);
        mean += weights[j] * (b - kappa * along);
        top[instance.part_of[j]] = top[instance.part_of[j]].max(b - kappa * along);
        largest = largest.max(b.abs() + kappa * gram.get(j, j));
    }
    let rounding = 1e-13 * instance.parts as f64 * largest;
    let gap = top.iter().sum::<f64>() - mean;
    assert!((solution.gap - gap).abs() <= rounding, "{} {gap}", solution.gap);
    assert!((solution.value - value).abs() <= rounding, "{} {value}", solution.value);
}
