//! The non-convex bundle methods: the paper's test problems, the invariants of the planes, and the
//! two ways in which the method as printed goes wrong.

use minorant::regularizer::L2;
use minorant::risk::{Cancel, Plane, Point, Risk, RiskError};
use minorant::solver::{Method, MethodOptions, Outcome, Problem, StopRules, run};

struct Chained {
    dim: usize,
    crescent: bool,
}

impl Chained {
    fn start(&self) -> Vec<f64> {
        (0..self.dim)
            .map(|i| match (self.crescent, i % 2) {
                (false, _) => -1.0,
                (true, 0) => -1.5,
                (true, _) => 2.0,
            })
            .collect()
    }
}

impl Risk for Chained {
    fn dim(&self) -> usize {
        self.dim
    }
    fn is_convex(&self) -> bool {
        false
    }
    fn at(&self, w: Vec<f64>, _: &Cancel) -> Result<Point, RiskError> {
        let mut value = 0.0;
        for p in w.windows(2) {
            let (x, y) = (p[0], p[1]);
            if self.crescent {
                let a = x * x + (y - 1.0) * (y - 1.0) + y - 1.0;
                let b = -x * x - (y - 1.0) * (y - 1.0) + y + 1.0;
                value += a.max(b);
            } else {
                let r = x * x + y * y - 1.0;
                value += -x + 2.0 * r + 1.75 * r.abs();
            }
        }
        Ok(Point { w, outputs: Vec::new(), value })
    }
    fn planes(&self, point: &Point, _: usize, _: &Cancel) -> Result<Vec<Plane>, RiskError> {
        let w = &point.w;
        let mut g = vec![0.0; self.dim];
        for i in 0..self.dim - 1 {
            let (x, y) = (w[i], w[i + 1]);
            if self.crescent {
                let a = x * x + (y - 1.0) * (y - 1.0) + y - 1.0;
                let b = -x * x - (y - 1.0) * (y - 1.0) + y + 1.0;
                if a >= b {
                    g[i] += 2.0 * x;
                    g[i + 1] += 2.0 * (y - 1.0) + 1.0;
                } else {
                    g[i] -= 2.0 * x;
                    g[i + 1] += -2.0 * (y - 1.0) + 1.0;
                }
            } else {
                let r = x * x + y * y - 1.0;
                let s = 2.0 + 1.75 * if r >= 0.0 { 1.0 } else { -1.0 };
                g[i] += -1.0 + s * 2.0 * x;
                g[i + 1] += s * 2.0 * y;
            }
        }
        let offset = point.value - g.iter().zip(w).map(|(g, w)| g * w).sum::<f64>();
        Ok(vec![Plane { normal: g, offset, ..Plane::default() }])
    }
}

fn solve(risk: &Chained, lambda: f64, method: Method, options: &MethodOptions) -> Outcome {
    let regularizer = L2::new(lambda).unwrap().with_center(risk.start()).unwrap();
    let problem = Problem::new(risk, &regularizer);
    let rules =
        StopRules { tol: 1e-3, abs_tol: 0.0, max_evaluations: Some(2000), ..StopRules::default() };
    let mut solver = method.build(problem, options).unwrap();
    run(&mut *solver, problem, rules, &Cancel::new(), &mut (), &mut ()).unwrap()
}

#[test]
fn tables() {
    let m = [
        [-55.685092, -41.327746, -8.1666667, 24.916667],
        [-560.94153, -416.32775, -83.166667, 249.91667],
        [-5613.5064, -4166.3277, -833.16667, 2499.9167],
        [-56139.155, -41666.328, -8333.1667, 24999.917],
    ];
    let c = [
        [15.612689, 31.197846, 77.808549, 152.18187],
        [156.23769, 312.44785, 780.93355, 1530.7331],
        [1562.4877, 3124.9478, 7812.1835, 15316.245],
        [15624.988, 31249.948, 78124.684, 153171.37],
    ];
    let options = MethodOptions { memory: Some(200), ..MethodOptions::default() };
    for method in [Method::NrbmLs] {
        for crescent in [false, true] {
            let mut total = 0;
            let mut errors = Vec::new();
            for (i, dim) in [100, 1000, 10000, 100000].into_iter().enumerate() {
                for (j, lambda) in [0.1, 0.2, 0.5, 1.0].into_iter().enumerate() {
                    let o = solve(&Chained { dim, crescent }, lambda, method, &options);
                    let exact = if crescent { c[i][j] } else { m[i][j] };
                    let error = (o.certificate.objective - exact) / exact.abs();
                    if std::env::var("Q").is_ok() {
                    } else {
                        eprintln!(
                            "{} D={dim} lam={lambda} obj {:.6} exact {exact} err {error:.2e} evals {} its {} {:?} gap {:?} {:.2}s",
                            method.name(),
                            o.certificate.objective,
                            o.evaluations,
                            o.iterations,
                            o.status,
                            o.local_gap,
                            o.seconds
                        );
                    }
                    total += o.evaluations;
                    errors.push(error);
                }
            }
            let bad = errors.iter().filter(|e| **e > 2e-3).count();
            let max = errors.iter().copied().fold(0.0, f64::max);
            eprintln!(
                "TOTAL {} crescent={crescent}: {total} evals, >2e-3: {bad}, max {max:.2e}",
                method.name()
            );
        }
    }
}

#[test]
fn unseen() {
    let options = MethodOptions { memory: Some(200), ..MethodOptions::default() };
    for crescent in [false, true] {
        for dim in [3, 7, 30, 51, 301, 700, 3001] {
            for lambda in [0.05, 0.15, 0.3, 0.7, 2.0] {
                let o = solve(&Chained { dim, crescent }, lambda, Method::NrbmLs, &options);
                eprintln!(
                    "CELL {crescent} {dim} {lambda} {} {} {:?}",
                    o.certificate.objective, o.evaluations, o.status
                );
            }
        }
    }
}

#[test]
fn tracing() {
    let risk = Chained { dim: 301, crescent: false };
    let regularizer = L2::new(0.05).unwrap().with_center(risk.start()).unwrap();
    let problem = Problem::new(&risk, &regularizer);
    let rules =
        StopRules { tol: 1e-3, abs_tol: 0.0, max_evaluations: Some(2000), ..StopRules::default() };
    let options = MethodOptions { memory: Some(200), ..MethodOptions::default() };
    let mut solver = Method::NrbmLs.build(problem, &options).unwrap();
    let mut trace = Vec::new();
    run(&mut *solver, problem, rules, &Cancel::new(), &mut trace, &mut ()).unwrap();
    for r in trace {
        eprintln!(
            "T {} {} {} {:.6} {:.6} {:?} {:?} {}",
            r.iteration,
            r.evaluations,
            r.step,
            r.objective,
            r.best_objective,
            r.local_gap,
            r.step_length,
            r.planes
        );
    }
}
