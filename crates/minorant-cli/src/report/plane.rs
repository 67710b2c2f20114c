//! A picture of rows with two features: the points, which of them have labels, and where the
//! decision changes. Drawn by hand like the charts, in the page's colours.

use super::{Section, chart};
use minorant::data::{Dataset, Label};
use minorant::family::{Data, FittedModel, Wanted};
use minorant::linalg::Matrix;
use std::fmt::Write;

/// What there is to draw.
#[derive(Debug, Clone)]
struct Plane {
    caption: &'static str,
    points: Vec<PlanePoint>,
    /// Decisions on a grid of [`GRID`] by [`GRID`] places over the frame, row by row from below.
    decisions: Vec<f64>,
}

/// A point: where it is, what it is decided to be, and whether its label was known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PlanePoint {
    place: [f64; 2],
    is_positive: bool,
    is_labelled: bool,
}

/// Places of the grid in each direction.
const GRID: usize = 90;
/// Points beyond which a picture shows no more than a page can hold.
const MOST_POINTS: usize = 3000;
const SIZE: f64 = 420.0;

/// The ends of both axes around some points, with a margin.
fn frame(places: impl Iterator<Item = [f64; 2]>) -> [[f64; 2]; 2] {
    let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
    for place in places {
        for (end, x) in ends.iter_mut().zip(place) {
            *end = [end[0].min(x), end[1].max(x)];
        }
    }
    ends.map(|[low, high]| {
        let margin = 0.08 * (high - low).max(1e-9);
        [low - margin, high + margin]
    })
}

/// The places of the grid over a frame, row by row from below.
fn grid(frame: [[f64; 2]; 2]) -> Vec<[f64; 2]> {
    let at = |[low, high]: [f64; 2], k: usize| low + (high - low) * k as f64 / (GRID - 1) as f64;
    (0..GRID * GRID).map(|k| [at(frame[0], k % GRID), at(frame[1], k / GRID)]).collect()
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
    let grid = grid(frame(places.iter().copied())).concat();
    let grid = Matrix::dense(GRID * GRID, 2, grid.into())?;
    let grid = Dataset { features: grid, labels: data.labels.clone() };
    let is_labelled = |i: usize| {
        let has = |z: &u32| data.labels.classes[*z as usize] != Label::Number(0.0);
        data.labels.row(i).iter().all(has)
    };
    let picture = |caption: &'static str, model: &FittedModel| -> anyhow::Result<String> {
        let decisions = |data: &Dataset<'_>| -> anyhow::Result<Vec<f64>> {
            let found = model.predict_with(data, Wanted::Scores).map_err(anyhow::Error::msg)?;
            Ok(found.numbers().to_vec())
        };
        let of_rows = decisions(data)?;
        let point = |(i, place): (usize, &[f64; 2])| PlanePoint {
            place: *place,
            is_positive: of_rows[i] > 0.0,
            is_labelled: is_labelled(i),
        };
        let points = places.iter().enumerate().map(point).collect();
        Ok(Plane { caption, points, decisions: decisions(&grid)? }.to_html())
    };
    Ok(Section {
        heading: "The plane",
        paragraphs: vec![
            "Points in the colour of their decision, those with a label large; the line is where \
             the decision changes."
                .into(),
        ],
        figures: vec![
            picture("Before: by the labelled rows alone", before)?,
            picture("After: with the unlabelled rows", after)?,
        ],
        ..Section::default()
    })
}

impl Plane {
    /// The picture as HTML.
    fn to_html(&self) -> String {
        let frame = frame(self.points.iter().map(|point| point.place));
        let share = |[low, high]: [f64; 2], value: f64| SIZE * (value - low) / (high - low);
        let mut drawing = format!("<path class=\"border\" d=\"{}\"/>\n", self.boundary());
        let step = self.points.len().div_ceil(MOST_POINTS).max(1);
        let is_drawn =
            |(number, point): &(usize, &PlanePoint)| number % step == 0 || point.is_labelled;
        for (_, point) in self.points.iter().enumerate().filter(is_drawn) {
            let colour = usize::from(point.is_positive);
            let (kind, radius) = if point.is_labelled { ("known", 7.0) } else { ("", 2.5) };
            let [x, y] = [0, 1].map(|axis| share(frame[axis], point.place[axis]));
            let _ = writeln!(
                drawing,
                "<circle class=\"{kind} c{colour}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"{radius}\"/>",
                SIZE - y
            );
        }
        let drawing = chart::svg(SIZE, SIZE, self.caption, "", &drawing);
        chart::figure(self.caption, &drawing, "")
    }

    /// Where the decision changes sign: a line through each cell of the grid in which it does.
    fn boundary(&self) -> String {
        let scale = SIZE / (GRID - 1) as f64;
        let value = |i: usize, j: usize| self.decisions[j * GRID + i];
        let mut path = String::new();
        for j in 0..GRID - 1 {
            for i in 0..GRID - 1 {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                let mut crossings = Vec::new();
                for k in 0..4 {
                    let (a, b) = (corners[k], corners[(k + 1) % 4]);
                    let (f, g) = (value(a.0, a.1), value(b.0, b.1));
                    if (f > 0.0) != (g > 0.0) {
                        let t = f / (f - g);
                        let between = |a: usize, b: usize| a as f64 + t * (b as f64 - a as f64);
                        let at = (between(a.0, b.0), between(a.1, b.1));
                        crossings.push((scale * at.0, SIZE - scale * at.1));
                    }
                }
                for pair in crossings.chunks_exact(2) {
                    let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
                    let _ = write!(path, "M{ax:.1} {ay:.1}L{bx:.1} {by:.1}");
                }
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_runs_where_the_decision_changes() {
        let point = |x: f64, y: f64, is_positive: bool| PlanePoint {
            place: [x, y],
            is_positive,
            is_labelled: is_positive,
        };
        let points = vec![point(-1.0, -1.0, false), point(1.0, 1.0, true)];
        let decisions = grid(frame(points.iter().map(|p| p.place))).iter().map(|p| p[0]).collect();
        let plane = Plane { caption: "a & b", points, decisions };
        let html = plane.to_html();
        assert!(html.contains("a &amp; b") && html.matches("<circle").count() == 2);
        // The line x = 0 lies in the middle of the picture, one piece in each row of cells.
        assert_eq!(plane.boundary().matches("M210.0").count(), GRID - 1);
    }
}
