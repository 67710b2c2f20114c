//! scratch
use minorant::{regularizer::L2, risk::*, solver::*};
use minorant_data::*;
use minorant_linalg::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let data = read(&[a[1].clone().into()], &ReadOptions::default()).unwrap();
    let (lambda, tol): (f64, f64) = (a[2].parse().unwrap(), a[4].parse().unwrap());
    let m = data.features;
    let n = m.rows();
    let y = match data.labels.rows {
        LabelRows::Single(v) => v,
        _ => panic!(),
    };
    let d = Design::new(&m, None);
    let k = data.labels.classes.len();
    let risk: Box<dyn Risk> = if k == 2 {
        Box::new(LinearRisk::new(
            d,
            hinge::Hinge::new(y.iter().map(|&y| if y == 1 { 1.0 } else { -1.0 }).collect()),
            ExampleWeights::mean(n),
        ))
    } else {
        Box::new(LinearRisk::new(
            d,
            multiclass_hinge::MulticlassHinge::new(k, y, multiclass_hinge::uniform_margins(k)),
            ExampleWeights::mean(n),
        ))
    };
    let reg = L2::new(lambda).unwrap();
    for name in a[3].split(',') {
        let mut s = Method::from_name(name)
            .unwrap()
            .build(
                &*risk,
                &MethodOptions { parts: None, proof_bytes: 64 << 20, ..Default::default() },
            )
            .unwrap();
        let mut trace: Vec<minorant::trace::TraceRecord> = vec![];
        let o = run(
            &mut *s,
            Problem { risk: &*risk, regularizer: &reg },
            StopRules { tol, max_seconds: Some(60.0), ..Default::default() },
            &Cancel::new(),
            &mut trace,
            &mut (),
        )
        .unwrap();
        eprintln!(
            "{name} n {n} d {} k {k}: J {:.12} lb {:.12} rel {:.2e} evals {} {:?} {:.3}s master {:.3}s planes {}",
            m.cols(),
            o.certificate.objective,
            o.certificate.lower_bound.unwrap(),
            o.certificate.relative_gap().unwrap(),
            o.evaluations,
            o.status,
            o.seconds,
            o.master_seconds,
            trace.last().unwrap().planes
        );
    }
}
