//! Curves: how something falls while a run goes on, several runs beside each other. In Markdown they are
//! a table of their values at powers of two, in HTML a drawing as well. Nothing here measures anything.

use minorant::trace::TraceRecord;
use std::fmt::Write;

/// Lines over one range.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curves {
    pub(crate) title: String,
    pub(crate) note: String,
    /// What the lines go along, such as evaluations.
    pub(crate) along: String,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Size of a drawing, and the room for its labels.
const SIZE: (f64, f64) = (640.0, 360.0);
const ROOM: (f64, f64) = (70.0, 40.0);
/// Nothing is drawn below this.
const LEAST: f64 = 1e-12;
const COLOURS: [&str; 6] = ["#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a"];

/// How far the objective of each evaluation, or the best until then, lies above the optimum, relative to it.
pub(crate) fn excess(trace: &[TraceRecord], optimum: f64, best: bool) -> Vec<(f64, f64)> {
    let of = |record: &TraceRecord| if best { record.best_objective } else { record.objective };
    let above = |record: &TraceRecord| ((of(record) - optimum) / optimum.abs()).max(LEAST);
    trace.iter().map(|record| (record.evaluations as f64, above(record))).collect()
}

impl Curves {
    /// No lines yet.
    pub(crate) fn new(title: &str, note: &str, along: &str) -> Self {
        Curves { title: title.into(), note: note.into(), along: along.into(), lines: Vec::new() }
    }

    /// One more line.
    pub(crate) fn add(&mut self, name: &str, points: Vec<(f64, f64)>) {
        self.lines.push(Line { name: name.into(), points });
    }

    fn longest(&self) -> f64 {
        let ends = self.lines.iter().filter_map(|line| line.points.last());
        ends.fold(1.0, |longest: f64, (x, _)| longest.max(*x))
    }

    /// The head and the rows of the table: each line where it stands at powers of two, and at its end.
    pub(crate) fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let powers = (0..).map(|k| f64::from(1 << k)).take_while(|x| *x <= self.longest());
        let at: Vec<f64> = powers.collect();
        let mut head = vec![self.along.clone()];
        head.extend(at.iter().map(f64::to_string));
        head.push("end".into());
        let row = |line: &Line| {
            let value = |x: &f64| {
                let end = line.points.last().is_some_and(|end| *x > end.0);
                let before = line.points.iter().take_while(|point| point.0 <= *x).last();
                before.filter(|_| !end).map_or("–".into(), |(_, y)| format!("{y:.1e}"))
            };
            let mut cells = vec![line.name.clone()];
            cells.extend(at.iter().map(value));
            cells.push(line.points.last().map_or("–".into(), |(x, y)| format!("{x}: {y:.1e}")));
            cells
        };
        (head, self.lines.iter().map(row).collect())
    }

    /// The drawing, both axes by powers.
    pub(crate) fn svg(&self) -> String {
        let values =
            || self.lines.iter().flat_map(|line| &line.points).map(|point| point.1.max(LEAST));
        let low = values().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values().fold(LEAST, f64::max).log10().ceil().max(low + 1.0);
        let wide = self.longest().log2().max(1.0);
        let (width, height) = (SIZE.0 - ROOM.0 - 10.0, SIZE.1 - ROOM.1 - 10.0);
        let x = |x: f64| ROOM.0 + width * x.max(1.0).log2() / wide;
        let y = |y: f64| 10.0 + height * (high - y.max(LEAST).log10()) / (high - low);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" \
             style=\"max-width:40rem;font:11px system-ui;fill:currentColor\">",
            SIZE.0, SIZE.1, self.title
        );
        let mut mark = |x1: f64,
                        y1: f64,
                        x2: f64,
                        y2: f64,
                        text: String,
                        at: (f64, f64),
                        end: &str| {
            let _ = write!(
                svg,
                "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"currentColor\" \
                 stroke-opacity=\".2\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{end}\">{text}</text>",
                at.0, at.1
            );
        };
        for power in low as i64..=high as i64 {
            let at = y(10f64.powi(power as i32));
            mark(
                ROOM.0,
                at,
                SIZE.0 - 10.0,
                at,
                format!("1e{power}"),
                (ROOM.0 - 6.0, at + 4.0),
                "end",
            );
        }
        for power in 0..=wide as i64 {
            let (at, bottom) = (x((1u64 << power) as f64), SIZE.1 - ROOM.1);
            mark(at, 10.0, at, bottom, (1u64 << power).to_string(), (at, bottom + 14.0), "middle");
        }
        for (at, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let mut path = String::new();
            for (px, py) in &line.points {
                let _ = write!(
                    path,
                    "{}{:.1} {:.1}",
                    if path.is_empty() { 'M' } else { 'L' },
                    x(*px),
                    y(*py)
                );
            }
            let _ = write!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\" text-anchor=\"end\">{}</text>",
                SIZE.0 - 14.0,
                24.0 + 14.0 * at as f64,
                line.name
            );
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_where_it_stands() {
        let mut curves = Curves::new("Falls", "", "evaluations");
        curves.add("a", vec![(1.0, 1.0), (2.0, 0.5), (5.0, 0.01)]);
        curves.add("b", vec![(1.0, 2.0)]);
        let (head, rows) = curves.table();
        assert_eq!(head, ["evaluations", "1", "2", "4", "end"]);
        assert_eq!(rows[0], ["a", "1.0e0", "5.0e-1", "5.0e-1", "5: 1.0e-2"]);
        assert_eq!(rows[1], ["b", "2.0e0", "–", "–", "1: 2.0e0"]);
        let svg = curves.svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
        assert_eq!(svg.matches("fill=\"none\"").count(), 2);
    }
}
