//! Losses that compute many rows at a time give the bits that they give of each row alone: whatever is
//! left over when vectors are full, and whoever asks for one example, must not see another loss.

use minorant::risk::logistic::Logistic;
use minorant::risk::loss::{Loss, Tangent};
use minorant::risk::softmax::Softmax;

#[test]
fn logistic_rows_together_have_the_bits_of_rows_alone() {
    let ends = [0.0, -0.0, 1e-300, 1e-9, 36.0, 709.0, 745.0, 1e9];
    let mut f: Vec<f64> = (0..59).map(|i| f64::from(i) * 1.7 - 50.0).collect();
    f.extend(ends.iter().flat_map(|x| [*x, -x]));
    let n = f.len();
    let loss = Logistic::new((0..n).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect());
    let curvature_of = loss.curvature().expect("the loss is smooth");
    let [mut values, mut c, mut slopes, mut curvatures] = [0; 4].map(|_| vec![0.0; n]);
    let mut tangents = vec![Tangent::default(); n];
    for rows in [0..n, 3..70, 5..6] {
        let f = &f[rows.clone()];
        let count = rows.len();
        loss.values(rows.clone(), f, &mut values[..count]);
        loss.tangents(rows.clone(), f, &mut c[..count], &mut tangents[..count]);
        loss.slopes(rows.clone(), f, &mut slopes[..count]);
        curvature_of.second_derivatives(rows.clone(), f, &mut curvatures[..count]);
        for (at, i) in rows.enumerate() {
            let (mut alone, mut curvature) = ([0.0f64], [0.0]);
            let tangent = loss.tangent(i, &f[at..=at], &mut alone);
            curvature_of.second_derivative(i, &f[at..=at], &mut curvature, &mut []);
            assert_eq!((tangents[at], c[at]), (tangent, alone[0]), "at {}", f[at]);
            assert_eq!((slopes[at], curvatures[at]), (alone[0], curvature[0]), "at {}", f[at]);
            let value = loss.value(i, &f[at..=at]);
            assert_eq!((values[at], tangent.value), (value, value), "at {}", f[at]);
            assert!(tangent.offset >= 0.0 && alone[0].abs() <= 1.0, "at {}", f[at]);
        }
    }
}

#[test]
fn softmax_rows_together_have_the_bits_of_rows_alone() {
    for classes in [2, 3, 10, 13] {
        let rows = 67;
        let number = |i: usize| ((i * 7919) % 1009) as f64 / 25.0 - 20.0;
        let f: Vec<f64> = (0..rows * classes).map(number).collect();
        let loss = Softmax::new(classes, (0..rows).map(|i| (i % classes) as u32).collect());
        let (mut values, mut tangents) = (vec![0.0; rows], vec![Tangent::default(); rows]);
        let [mut c, mut slopes] = [0; 2].map(|_| vec![0.0; f.len()]);
        loss.values(0..rows, &f, &mut values);
        loss.tangents(0..rows, &f, &mut c, &mut tangents);
        loss.slopes(0..rows, &f, &mut slopes);
        assert_eq!(c, slopes);
        for i in 0..rows {
            let (at, mut alone) = (i * classes..(i + 1) * classes, vec![0.0; classes]);
            assert_eq!(tangents[i], loss.tangent(i, &f[at.clone()], &mut alone));
            assert_eq!(c[at.clone()], alone);
            assert_eq!([values[i], tangents[i].value], [loss.value(i, &f[at]); 2]);
        }
    }
}
