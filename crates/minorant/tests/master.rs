//! The master against Clarabel and against itself: random, degenerate and warm-started programs.
//! `MINORANT_CAMPAIGN=1` runs all 2000 referee instances instead of a sample. Times are printed
//! (`--nocapture`), never asserted.
#![allow(clippy::print_stdout)]

#[path = "master/instances.rs"]
mod instances;

use std::time::Instant;

use instances::{Instance, Random, assert_feasible, instance, product, referee};
use minorant::master::{Gram, Master, MasterSolution};

fn size(value: f64) -> f64 {
    value.abs().max(1.0)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Solves without the last plane, then pushes it and solves again; the second solve's seconds.
fn add_the_last(instance: &Instance, gram: &Gram, gap: f64) -> (Master, MasterSolution, f64) {
    let planes = gram.len();
    let mut keep = vec![true; planes];
    keep[planes - 1] = false;
    let mut smaller = gram.clone();
    smaller.retain(&keep);
    let mut master = Master::new(instance.parts);
    for &part in &instance.part_of[..planes - 1] {
        master.push(part);
    }
    master.solve(&smaller, &instance.offsets[..planes - 1], instance.curvature, gap);
    let start = Instant::now();
    master.push(instance.part_of[planes - 1]);
    let solution = master.solve(gram, &instance.offsets, instance.curvature, gap);
    (master, solution, start.elapsed().as_secs_f64())
}

/// An instance whose last plane has weight in the solution, if another of its part is there.
fn instance_with_needed_last(seed: u64) -> Instance {
    let mut instance = instance(seed);
    let mut master = instance.master();
    instance.solve(&mut master, &instance.gram(), 1e-10);
    let weights = master.weights();
    let last = weights.len() - 1;
    if let Some(j) = (instance.parts..=last).rev().find(|&j| weights[j] > 1e-3) {
        instance.swap(j, last);
    }
    instance
}

#[test]
fn agrees_with_clarabel() {
    let campaign = std::env::var_os("MINORANT_CAMPAIGN").is_some();
    let count = if campaign { 2000 } else { 200 };
    let (mut worst_gap, mut worst_difference, mut again) = (0.0f64, 0.0f64, 0);
    let (mut ratios, mut steps) = (Vec::new(), Vec::new());
    for seed in 0..count {
        let instance = instance_with_needed_last(seed);
        let gram = instance.gram();
        let mut cold = instance.master();
        let solution = instance.solve(&mut cold, &gram, 1e-10);
        let (mut value, seconds) = referee(&instance, &gram, false);
        if (value - solution.value).abs() > 1e-8 * size(solution.value) {
            again += 1;
            value = referee(&instance, &gram, true).0;
        }
        let gap = solution.gap / size(solution.value);
        let difference = (value - solution.value).abs() / size(solution.value);
        assert!(gap <= 1e-9 && difference <= 1e-7, "{seed}: gap {gap}, difference {difference}");
        worst_gap = worst_gap.max(gap);
        worst_difference = worst_difference.max(difference);
        if gram.len() > instance.parts {
            let (master, warm, warm_seconds) = add_the_last(&instance, &gram, 1e-10);
            assert_feasible(&master, instance.parts);
            let difference = (warm.value - solution.value).abs();
            assert!(difference <= 1e-9 * size(warm.value), "{seed}: {difference}");
            if gram.len() >= 20 {
                ratios.push(warm_seconds / seconds);
                steps.push(warm.steps as f64);
            }
        }
    }
    let largest = steps.iter().copied().fold(0.0, f64::max);
    let middle = median(&mut steps);
    println!(
        "{count} instances: worst gap {worst_gap:.1e}, worst difference {worst_difference:.1e}"
    );
    println!("{again} stated to Clarabel a second time, by their normals");
    println!("one plane more: {middle} steps in the median, {largest} at most");
    println!("warm solve / cold Clarabel: {:.5} in the median", median(&mut ratios));
    assert!(middle <= 8.0, "a warm solve took {middle} steps in the median");
}

#[test]
fn removal_and_aggregation_keep_the_weights_feasible() {
    for seed in 0..150 {
        let mut instance = instance(10_000 + seed);
        let mut random = Random(seed);
        let mut gram = instance.gram();
        let mut master = instance.master();
        instance.solve(&mut master, &gram, 1e-10);
        // Idle planes leave first, then any: a part keeps its first.
        for idle_only in [true, false] {
            let mut seen = vec![false; instance.parts];
            let keep: Vec<bool> = (0..gram.len())
                .map(|j| {
                    let first = !std::mem::replace(&mut seen[master.part_of(j)], true);
                    let may_go = !idle_only || master.weights()[j] == 0.0;
                    first || !may_go || random.below(3) > 0
                })
                .collect();
            master.retain(&keep);
            gram.retain(&keep);
            let mut flags = keep.iter();
            instance.normals.retain(|_| *flags.next().expect("a flag"));
            let mut flags = keep.iter();
            instance.offsets.retain(|_| *flags.next().expect("a flag"));
            let mut flags = keep.iter();
            instance.part_of.retain(|_| *flags.next().expect("a flag"));
            assert_feasible(&master, instance.parts);
            let warm = instance.solve(&mut master, &gram, 1e-10);
            let cold = instance.solve(&mut instance.master(), &gram, 1e-10);
            assert!((warm.value - cold.value).abs() <= 1e-9 * size(cold.value), "{seed}");
        }
        let mixed: Vec<f64> = master.weights().iter().map(|w| w + random.unit()).collect();
        master.set_weights(&mixed);
        assert_feasible(&master, instance.parts);
        let warm = instance.solve(&mut master, &gram, 1e-10);
        assert!(warm.gap <= 1e-9 * size(warm.value), "{seed}: {}", warm.gap);
    }
}

#[test]
fn a_restored_master_goes_on_with_the_same_bits() {
    for seed in 0..60 {
        let mut instance = instance(20_000 + seed);
        let gram = instance.gram();
        let (mut master, _, _) = if gram.len() > instance.parts {
            add_the_last(&instance, &gram, 1e-10)
        } else {
            continue;
        };
        let mut restored = Master::restore(master.snapshot());
        for factor in [0.5, 3.0, 0.1] {
            instance.curvature *= factor;
            let a = instance.solve(&mut master, &gram, 0.0);
            let b = instance.solve(&mut restored, &gram, 0.0);
            assert_eq!(a, b);
            assert_eq!(master.weights(), restored.weights());
            assert_eq!(master.snapshot(), restored.snapshot());
        }
    }
}

#[test]
fn the_curvature_may_range_over_nine_decades() {
    for seed in 0..40 {
        let mut instance = instance(30_000 + seed);
        let gram = instance.gram();
        let mut master = instance.master();
        let largest = (0..gram.len()).map(|j| gram.get(j, j)).fold(0.0, f64::max);
        for exponent in [-2, 0, 2, 4, 6, 7, 3, -1] {
            instance.curvature = 10f64.powi(exponent);
            let rounding = f64::EPSILON * instance.parts as f64 * instance.curvature * largest;
            let solution = instance.solve(&mut master, &gram, 0.0);
            let bound = 4.0 * rounding + 1e-13 * size(solution.value);
            assert!(solution.gap <= bound, "{seed}: 1e{exponent} {} {bound}", solution.gap);
        }
    }
}

#[test]
fn degenerate_programs_are_solved() {
    // One plane; identical planes; zero normals (a linear program); extreme scales.
    let planes = |normals: &[[f64; 2]], offsets: &[f64], parts: usize, curvature: f64| Instance {
        parts,
        part_of: (0..normals.len()).map(|j| j % parts).collect(),
        normals: normals.iter().map(|a| a.to_vec()).collect(),
        offsets: offsets.to_vec(),
        curvature,
    };
    let solve = |instance: &Instance| instance.solve(&mut instance.master(), &instance.gram(), 0.0);
    let one = solve(&planes(&[[3.0, 4.0]], &[0.5], 1, 2.0));
    assert_eq!((one.value, one.gap), (0.5 - 25.0, 0.0));
    let same = solve(&planes(&[[1.0, 1.0]; 12], &[0.25; 12], 3, 1e5));
    assert!((same.value + 0.5e5 * 18.0 - 0.75).abs() < 1e-9 && same.gap < 1e-9);
    let offsets = [0.1, 0.7, 0.3, 0.2, 0.9, 0.4];
    let linear = solve(&planes(&[[0.0, 0.0]; 6], &offsets, 2, 1e7));
    assert_eq!((linear.value, linear.gap), (0.9 + 0.7, 0.0));
    for scale in [1e-12, 1e-6, 1e6, 1e12] {
        let normals = [[scale, 0.0], [-scale, 0.5 * scale], [0.0, -scale], [scale, scale]];
        let offsets = [0.1, 0.2, 0.3, 0.0];
        let scaled = solve(&planes(&normals, &offsets, 1, 1.0 / (scale * scale)));
        let unit = [[1.0, 0.0], [-1.0, 0.5], [0.0, -1.0], [1.0, 1.0]];
        let wanted = solve(&planes(&unit, &offsets, 1, 1.0));
        assert!((scaled.value - wanted.value).abs() < 1e-14 && scaled.gap < 1e-14);
    }
    // Nonsense ends all the same.
    let mut instance = instance(4);
    instance.offsets[0] = f64::NAN;
    instance.master().solve(&instance.gram(), &instance.offsets, 1.0, 0.0);
    instance.offsets[0] = f64::INFINITY;
    instance.master().solve(&instance.gram(), &instance.offsets, f64::MAX, 0.0);
}

/// A plain cutting-plane loop on a hinge risk: one plane per part and iteration, nothing removed.
#[test]
fn a_bundle_run_stays_cheap_and_exact() {
    let (examples, dimension, parts, iterations) = (2000, 50, 16, 60);
    let mut random = Random(1);
    let draw = |random: &mut Random| -> Vec<f64> {
        let x: Vec<f64> = (0..dimension).map(|_| random.normal()).collect();
        let norm = product(&x, &x).sqrt();
        x.iter().map(|x| x / norm).collect()
    };
    let truth = draw(&mut random);
    // Rows already multiplied by their labels, a part of which is wrong.
    let rows: Vec<Vec<f64>> = (0..examples)
        .map(|_| {
            let x = draw(&mut random);
            let side = if product(&x, &truth) + 0.1 * random.normal() > 0.0 { 1.0 } else { -1.0 };
            x.iter().map(|x| side * x).collect()
        })
        .collect();
    for lambda in [1e-5, 1e-7] {
        let mut bundle = Instance {
            parts,
            part_of: Vec::new(),
            normals: Vec::new(),
            offsets: Vec::new(),
            curvature: 1.0 / lambda,
        };
        let (mut gram, mut master) = (Gram::new(), Master::new(parts));
        let mut w = vec![0.0; dimension];
        let (mut steps, mut seconds, mut bound) = (0, 0.0, f64::NEG_INFINITY);
        for iteration in 1..=iterations {
            for part in 0..parts {
                let (mut normal, mut offset) = (vec![0.0; dimension], 0.0);
                for row in rows.iter().skip(part).step_by(parts) {
                    if product(row, &w) < 1.0 {
                        offset += 1.0 / examples as f64;
                        for (a, x) in normal.iter_mut().zip(row) {
                            *a -= x / examples as f64;
                        }
                    }
                }
                bundle.part_of.push(part);
                bundle.normals.push(normal);
                bundle.offsets.push(offset);
                let new = bundle.normals.len() - 1;
                let products: Vec<f64> =
                    (0..=new).map(|j| product(&bundle.normals[j], &bundle.normals[new])).collect();
                gram.push(&products);
                master.push(part);
            }
            let start = Instant::now();
            let solution = master.solve(&gram, &bundle.offsets, bundle.curvature, 1e-9);
            seconds += start.elapsed().as_secs_f64();
            steps += solution.steps;
            assert!(solution.gap <= 1e-9, "{iteration}: {}", solution.gap);
            assert!(solution.value >= bound - 1e-9, "more planes cannot lower the maximum");
            bound = solution.value;
            w.fill(0.0);
            for (normal, &weight) in bundle.normals.iter().zip(master.weights()) {
                for (w, a) in w.iter_mut().zip(normal) {
                    *w -= bundle.curvature * weight * a;
                }
            }
            if iteration % 20 == 0 {
                let support = master.weights().iter().filter(|&&weight| weight > 0.0).count();
                println!(
                    "lambda {lambda:.0e}, {} planes, support {support}: {} steps; all so far {:.1} ms",
                    gram.len(),
                    solution.steps,
                    1e3 * seconds
                );
            }
        }
        assert_feasible(&master, parts);
        assert!(steps < 600 * iterations, "{steps} steps");
    }
}
