//! The master against Clarabel and against itself: random, degenerate and warm-started programs.
//! `MINORANT_CAMPAIGN=1` runs all 2000 referee instances instead of a sample.

use std::time::Instant;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SupportedConeT, ZeroConeT,
};
use minorant::master::{Gram, Master};

/// A small generator (splitmix64): the instances must not depend on any library's stream.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
    /// Roughly normal, with variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

struct Instance {
    parts: usize,
    part_of: Vec<usize>,
    normals: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    curvature: f64,
}

impl Instance {
    fn gram(&self) -> Gram {
        let mut gram = Gram::new();
        for j in 0..self.normals.len() {
            let row: Vec<f64> =
                (0..=j).map(|k| product(&self.normals[j], &self.normals[k])).collect();
            gram.push(&row);
        }
        gram
    }

    fn master(&self) -> Master {
        let mut master = Master::new(self.parts);
        for &part in &self.part_of {
            master.push(part);
        }
        master
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// A random program of 1 to 300 planes.
fn instance(seed: u64) -> Instance {
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

/// Clarabel's optimal value and its seconds.
fn referee(instance: &Instance, gram: &Gram) -> (f64, f64) {
    let planes = gram.len();
    let kappa = instance.curvature;
    let mut quadratic = (Vec::new(), Vec::new(), Vec::new());
    for j in 0..planes {
        for i in 0..=j {
            quadratic.0.push(i);
            quadratic.1.push(j);
            quadratic.2.push(kappa * gram.get(i, j));
        }
    }
    let p = CscMatrix::new_from_triplets(planes, planes, quadratic.0, quadratic.1, quadratic.2);
    let linear: Vec<f64> = instance.offsets.iter().map(|b| -b).collect();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for j in 0..planes {
        rows.extend([instance.part_of[j], instance.parts + j]);
        columns.extend([j, j]);
        values.extend([1.0, -1.0]);
    }
    let a = CscMatrix::new_from_triplets(instance.parts + planes, planes, rows, columns, values);
    let mut b = vec![1.0; instance.parts];
    b.resize(instance.parts + planes, 0.0);
    let cones: Vec<SupportedConeT<f64>> = vec![ZeroConeT(instance.parts), NonnegativeConeT(planes)];
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-9)
        .tol_gap_rel(1e-9)
        .build()
        .expect("valid settings");
    let start = Instant::now();
    let mut solver = DefaultSolver::new(&p, &linear, &a, &b, &cones, settings).expect("a program");
    solver.solve();
    let seconds = start.elapsed().as_secs_f64();
    (-solver.solution.obj_val, seconds)
}

fn assert_feasible(master: &Master, parts: usize) {
    let mut sums = vec![0.0; parts];
    for (j, &weight) in master.weights().iter().enumerate() {
        assert!(weight >= 0.0, "weight {weight}");
        sums[master.part_of(j)] += weight;
    }
    for sum in sums {
        assert!((sum - 1.0).abs() < 1e-14, "sum {sum}");
    }
}

fn size(value: f64) -> f64 {
    value.abs().max(1.0)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn agrees_with_clarabel() {
    let campaign = std::env::var_os("MINORANT_CAMPAIGN").is_some();
    let count = if campaign { 2000 } else { 250 };
    let (mut worst_gap, mut worst_difference) = (0.0f64, 0.0f64);
    let mut ratios = Vec::new();
    let mut failures = Vec::new();
    let (mut cold_total, mut warm_total, mut clarabel_total) = (0.0, 0.0, 0.0);
    for seed in 0..count {
        let instance = instance(seed);
        let gram = instance.gram();
        // All planes but the last, cold; then the last one, warm.
        let planes = gram.len();
        let mut master = instance.master();
        let mut warm_seconds = 0.0;
        let start = Instant::now();
        let solution;
        if planes > instance.parts {
            let mut keep = vec![true; planes];
            keep[planes - 1] = false;
            let mut smaller = gram.clone();
            smaller.retain(&keep);
            master.retain(&keep);
            master.solve(&smaller, &instance.offsets[..planes - 1], instance.curvature, 1e-10);
            cold_total += start.elapsed().as_secs_f64();
            let start = Instant::now();
            master.push(instance.part_of[planes - 1]);
            solution = master.solve(&gram, &instance.offsets, instance.curvature, 1e-10);
            warm_seconds = start.elapsed().as_secs_f64();
        } else {
            solution = master.solve(&gram, &instance.offsets, instance.curvature, 1e-10);
        }
        assert_feasible(&master, instance.parts);
        let (value, seconds) = referee(&instance, &gram);
        if planes >= 20 {
            ratios.push(warm_seconds / seconds);
        }
        warm_total += warm_seconds;
        clarabel_total += seconds;
        let gap = solution.gap / size(solution.value);
        let difference = (value - solution.value).abs() / size(solution.value);
        worst_gap = worst_gap.max(gap);
        worst_difference = worst_difference.max(difference);
        if !(gap <= 1e-9 && difference <= 1e-7) {
            failures.push(seed);
            println!(
                "seed {seed}: M {planes} P {} d {} kappa {:.2e}: gap {gap:.1e} difference {difference:.1e} value {} clarabel {value} steps {}",
                instance.parts,
                instance.normals[0].len(),
                instance.curvature,
                solution.value,
                solution.steps
            );
        }
    }
    println!(
        "{count} instances: worst gap {worst_gap:.1e}, worst difference {worst_difference:.1e}; warm / cold Clarabel: median {:.4}; totals: cold {cold_total:.2} s, warm {warm_total:.2} s, Clarabel {clarabel_total:.2} s",
        median(&mut ratios)
    );
    assert!(failures.is_empty(), "{failures:?}");
}
