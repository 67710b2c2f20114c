//! What random problems over rows penalise: squares, absolute weights, both, signs and bounds, a
//! constant feature with a weight of its own or an intercept that is free.

use super::draw::Random;
use super::number::Number;
use super::stated::Weight;
use minorant::family::Settings;
use minorant::family::linear::BIAS_WEIGHT;
use minorant::options::common::{BIAS, BOUNDS, INTERCEPT, Intercept, L1_RATIO, NONNEGATIVE};

/// Puts penalties into settings; the name says what they are.
pub(crate) fn draw(
    random: &mut Random,
    settings: &mut Settings,
    columns: usize,
    may_be_free: bool,
    files: &mut Vec<(String, String)>,
) -> String {
    let mut name = String::new();
    let is_pure = settings.is_given("penalty");
    let is_mixed = !is_pure && random.chance(0.2);
    if is_mixed {
        let ratio = random.pick(&[0.0, 0.1, 0.5, 0.9, 1.0, 1e-6, 1.0 - 1e-9]);
        let ratio = if random.chance(0.3) { random.unit() } else { ratio };
        settings.put(&L1_RATIO, Some(ratio));
        name += if ratio == 1.0 { " l1" } else { " elastic" };
    }
    let is_nonnegative = random.chance(0.1);
    if is_nonnegative {
        settings.put(&NONNEGATIVE, true);
    }
    let is_bounded = random.chance(0.1);
    if is_bounded {
        let bounds = bounds(random, columns, is_nonnegative);
        let line = |bound: &[f64]| {
            let end = |x: f64| if x.is_finite() { format!("{x:?}") } else { String::new() };
            format!("{},{},{}", bound[0], end(bound[1]), end(bound[2]))
        };
        let text: Vec<String> = bounds.chunks(3).map(line).collect();
        files.push(("bounds.txt".into(), text.join("\n")));
        settings.put(&BOUNDS, Some(bounds));
    }
    if is_nonnegative || is_bounded {
        name += " bounded";
    }
    if random.chance(0.3) {
        settings.put(&BIAS, Some(random.pick(&[1.0, 0.5, -2.0, 10.0, 1e4, 1e-4])));
        if !is_pure && !is_mixed && random.chance(0.4) {
            settings.put(&BIAS_WEIGHT, Some(random.scale(1e-2, 1e2)));
        }
    } else if may_be_free && random.chance(0.35) {
        settings.put(&INTERCEPT, Some(Intercept::Free));
        name += " free";
    }
    name
}

/// Bounds on some columns, of one side or both, of all sizes, also such that leave one value.
fn bounds(random: &mut Random, columns: usize, is_nonnegative: bool) -> Vec<f64> {
    let mut bounds = Vec::new();
    for column in 1..=columns {
        if !random.chance(0.7) {
            continue;
        }
        let middle = random.pick(&[0.0, 0.0, 1.0, -1.0]) * random.scale(1e-4, 1e2);
        let middle = if is_nonnegative { middle.abs() } else { middle };
        let width = random.pick(&[0.0, 1.0, 1.0, 1.0]) * random.scale(1e-6, 1e4);
        let (least, greatest) = match random.between(0, 3) {
            0 => (f64::NEG_INFINITY, middle + width),
            1 => (middle - width, f64::INFINITY),
            _ => (middle - width, middle + width),
        };
        bounds.extend([column as f64, least, greatest]);
    }
    bounds
}

/// The weights of a problem over rows: those of each column, of the constant feature and of the free
/// intercept, all outputs side by side.
pub(crate) fn weights(
    settings: &Settings,
    total: &Number,
    columns: usize,
    outputs: usize,
) -> Vec<Weight> {
    let plain = Weight::of(settings, total);
    let least = settings.get(&NONNEGATIVE).then(Number::zero);
    let mut of_columns = vec![Weight { least: least.clone(), ..plain.clone() }; columns];
    for bound in settings.get(&BOUNDS).unwrap_or_default().chunks(3) {
        let end = |x: f64| x.is_finite().then(|| Number::new(x));
        let weight = &mut of_columns[bound[0] as usize - 1];
        weight.least = least.clone().into_iter().chain(end(bound[1])).max();
        weight.greatest = end(bound[2]);
    }
    if settings.get(&BIAS).is_some() {
        let theta = Number::new(settings.get(&BIAS_WEIGHT).unwrap_or(1.0));
        let curvature = &plain.curvature * &(&theta * &theta);
        of_columns.push(Weight { curvature, ..plain });
    }
    if settings.get(&INTERCEPT).is_some() {
        of_columns.push(Weight::free());
    }
    of_columns.into_iter().flat_map(|weight| vec![weight; outputs]).collect()
}
