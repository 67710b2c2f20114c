//! A picture of rows with two features: the points, which of them have labels, and where the
//! decision changes. Drawn by hand like the charts, in the page's colours.

use super::axis::extremes;
use super::{Section, chart};
use minorant::data::{Dataset, Label};
use minorant::family::{Data, FittedModel, Wanted};
use minorant::linalg::Matrix;

/// Places in each direction of the grid on which the decision is looked at.
const GRID: usize = 90;
/// Points beyond which a picture shows no more than a page can hold.
const MOST_POINTS: usize = 3000;
const SIZE: f64 = 420.0;

/// The ends of an axis around some values, with a margin.
fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (low, high) = extremes(values).unwrap_or_default();
    let margin = 0.08 * (high - low).max(1e-9);
    [low - margin, high + margin]
}

/// Rows of two features and two classes as two models decide them: the one of the labelled rows
/// alone, and the one that knows the others too.
pub(crate) fn section(
    before: &FittedModel,
    after: &FittedModel,
    data: Data<'_>,
) -> anyhow::Result<Section> {
    let data = data.rows().map_err(anyhow::Error::msg)?;
    let place = |i: usize| {
        let mut place = [0.0; 2];
        data.features.for_each_in_row(i, |j, x| place[j] = x);
        place
    };
    let places: Vec<[f64; 2]> = (0..data.features.rows()).map(place).collect();
    let frame = [0, 1].map(|axis| ends(places.iter().map(|place| place[axis])));
    // The places of the grid, row by row from below, and points as shares of the frame.
    let at = |[low, high]: [f64; 2], k: usize| low + (high - low) * k as f64 / (GRID - 1) as f64;
    let grid = (0..GRID * GRID).flat_map(|k| [at(frame[0], k % GRID), at(frame[1], k / GRID)]);
    let grid = Matrix::dense(GRID * GRID, 2, grid.collect::<Vec<_>>().into())?;
    let grid = Dataset { features: grid, labels: data.labels.clone() };
    let share = |axis: usize, x: f64| (x - frame[axis][0]) / (frame[axis][1] - frame[axis][0]);
    let is_labelled = |i: usize| {
        let has = |z: &u32| data.labels.classes[*z as usize] != Label::Number(0.0);
        data.labels.row(i).iter().all(has)
    };
    let picture = |caption: &str, model: &FittedModel| -> anyhow::Result<String> {
        let decisions = |data: &Dataset<'_>| -> anyhow::Result<Vec<f64>> {
            let found = model.predict_with(data, Wanted::Scores).map_err(anyhow::Error::msg)?;
            Ok(found.numbers().to_vec())
        };
        let step = places.len().div_ceil(MOST_POINTS).max(1);
        let point = |(i, (place, decision)): (usize, (&[f64; 2], f64))| {
            let (x, y) = (share(0, place[0]), share(1, place[1]));
            let is_drawn = i % step == 0 || is_labelled(i);
            if is_drawn { circle(x, y, decision > 0.0, is_labelled(i)) } else { String::new() }
        };
        let points = places.iter().zip(decisions(data)?).enumerate().map(point);
        let boundary = chart::stroke("border", &boundary(&decisions(&grid)?));
        let drawing = boundary + &points.collect::<String>();
        let about = "Points, and the line where the decision changes.";
        Ok(chart::figure(caption, &chart::svg(SIZE, SIZE, caption, about, &drawing), ""))
    };
    let told = "Points in the colour of their decision, those with a label large; the line is where \
                the decision changes.";
    Ok(Section {
        heading: "The plane",
        paragraphs: vec![told.into()],
        figures: vec![
            picture("Before: by the labelled rows alone", before)?,
            picture("After: with the unlabelled rows", after)?,
        ],
        ..Section::default()
    })
}

/// A point, by its shares of the width and of the height from below.
fn circle(x: f64, y: f64, is_positive: bool, is_labelled: bool) -> String {
    let (kind, radius) = if is_labelled { ("known", 7.0) } else { ("", 2.5) };
    let (colour, x, y) = (u8::from(is_positive), SIZE * x, SIZE - SIZE * y);
    format!("<circle class=\"{kind} c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>\n")
}

/// Where the decision on the grid changes sign: a line through each cell in which it does.
fn boundary(decisions: &[f64]) -> String {
    let scale = SIZE / (GRID - 1) as f64;
    let mut path = String::new();
    for (i, j) in (0..GRID - 1).flat_map(|j| (0..GRID - 1).map(move |i| (i, j))) {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        let crossings = (0..4).filter_map(|k| {
            let [a, b] = [corners[k], corners[(k + 1) % 4]];
            let [f, g] = [a, b].map(|(i, j)| decisions[j * GRID + i]);
            let t = f / (f - g);
            let between = |a: usize, b: usize| scale * (a as f64 + t * (b as f64 - a as f64));
            let crossing = (between(a.0, b.0), SIZE - between(a.1, b.1));
            ((f > 0.0) != (g > 0.0)).then_some(crossing)
        });
        for pair in crossings.collect::<Vec<_>>().chunks_exact(2) {
            path += &chart::path(pair);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_runs_where_the_decision_changes() {
        let middle = (GRID - 1) as f64 / 2.0;
        let decisions: Vec<f64> = (0..GRID * GRID).map(|k| (k % GRID) as f64 - middle).collect();
        // The line in the middle of the picture has one piece in each row of cells.
        assert_eq!(boundary(&decisions).matches("M210.0").count(), GRID - 1);
    }
}
