//! Draws one chart as a figure with an inline SVG: axes, lines (stepped or joined), a thinner one
//! for a lower bound, a legend. Colours and dashes are classes of the style sheet, so that
//! the page's theme decides them. Which values and scales, `curves` says.

use super::axis::Axis;
use super::escape;
use std::fmt::Write;

/// One solver's line.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) name: String,
    /// Its number, which gives it its colour and dashes.
    pub(super) style: usize,
    /// What is drawn, in ascending order.
    pub(super) points: Vec<(f64, f64)>,
    /// A second, thinner line below; may start later.
    pub(super) floor: Vec<(f64, f64)>,
    /// Where the line ends, in words.
    pub(super) summary: String,
}

/// One chart.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) x_name: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    /// A horizontal line with its name.
    pub(super) rule: Option<(f64, String)>,
    /// Whether points are joined by straight lines; else each value holds until the next.
    pub(super) is_joined: bool,
    /// Remarks below the chart.
    pub(super) notes: Vec<String>,
    /// What stands there instead when there are no lines.
    pub(super) if_empty: &'static str,
}

// Units of the drawing; the page scales it to the room there is.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 270.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 46.0;
/// Width of a digit in the largest text size that the style sheet sets.
const DIGIT: f64 = 8.9;
/// Changes too small to be seen are left out, so that a long trace is no large page.
const VISIBLE: f64 = 0.2;

/// Colours and dash patterns of the style sheet; as their numbers share no divisor, their
/// combinations repeat only after all of them have been used.
const COLOURS: usize = 6;
const DASHES: usize = 5;

fn classes(style: usize) -> String {
    format!("c{} d{}", style % COLOURS, style % DASHES)
}

impl Chart {
    /// The figure.
    pub(super) fn to_html(&self) -> String {
        let mut html = String::new();
        let _ = write!(html, "<figure>\n<figcaption>{}</figcaption>\n", escape(&self.title));
        if self.lines.is_empty() {
            let _ = write!(html, "<p class=\"note\">{}</p>\n</figure>\n", escape(self.if_empty));
            return html;
        }
        html += &self.legend();
        html += &self.svg();
        for note in &self.notes {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(note));
        }
        html + "</figure>\n"
    }

    fn legend(&self) -> String {
        let mut html = String::from("<ul class=\"legend\">\n");
        for line in &self.lines {
            let _ = writeln!(
                html,
                "<li><svg class=\"key\" viewBox=\"0 0 30 8\" aria-hidden=\"true\"><path \
                 class=\"line {}\" d=\"M0 4H30\"/></svg>{}</li>",
                classes(line.style),
                escape(&line.name)
            );
        }
        html + "</ul>\n"
    }

    fn svg(&self) -> String {
        let id = &self.id;
        let longest = self.y.ticks.iter().map(|tick| tick.label.len()).max().unwrap_or(0);
        let plot = Plot { left: 14.0 + DIGIT * longest as f64 };
        let mut svg = String::new();
        let ends = self.lines.iter().map(|line| format!("{}: {}", line.name, line.summary));
        let _ = write!(
            svg,
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{}</title>\n\
             <desc id=\"{id}-desc\">The lines end at: {}.</desc>\n",
            escape(&self.title),
            escape(&ends.collect::<Vec<_>>().join("; "))
        );
        self.axes(&plot, &mut svg);
        let _ = write!(
            svg,
            "<clipPath id=\"{id}-clip\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\
             </clipPath>\n<g clip-path=\"url(#{id}-clip)\">\n",
            plot.left,
            TOP - 2.0,
            WIDTH - RIGHT + 2.0 - plot.left,
            HEIGHT - BOTTOM - TOP + 4.0
        );
        // Areas of several lines would hide each other.
        if let [line] = &self.lines[..] {
            self.area(&plot, line, &mut svg);
        }
        for line in &self.lines {
            let class = classes(line.style);
            if !line.floor.is_empty() {
                let floor = self.steps(&plot, &line.floor);
                let _ = writeln!(svg, "<path class=\"line thin {class}\" d=\"{}\"/>", path(&floor));
            }
            let steps = self.steps(&plot, &line.points);
            let _ = writeln!(svg, "<path class=\"line {class}\" d=\"{}\"/>", path(&steps));
        }
        svg += "</g>\n";
        self.named_rule(&plot, &mut svg);
        for line in &self.lines {
            self.end(&plot, line, &mut svg);
        }
        svg + "</svg>\n"
    }

    fn axes(&self, plot: &Plot, svg: &mut String) {
        let (left, right, floor) = (plot.left, WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in &self.y.ticks {
            let y = plot.y(tick.at);
            let class = if tick.label.is_empty() { "grid faint" } else { "grid" };
            let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{left:.1} {y:.1}H{right}\"/>");
            if !tick.label.is_empty() {
                let _ = writeln!(
                    svg,
                    "<text class=\"tick end\" x=\"{:.1}\" y=\"{y:.1}\" dy=\".34em\">{}</text>",
                    left - 7.0,
                    escape(&tick.label)
                );
            }
        }
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{left:.1} {floor}H{right}\"/>");
        for tick in &self.x.ticks {
            let x = plot.x(tick.at);
            let length = if tick.label.is_empty() { 3.0 } else { 5.0 };
            let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x:.1} {floor}v{length}\"/>");
            if !tick.label.is_empty() {
                let _ = writeln!(
                    svg,
                    "<text class=\"tick mid\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                    floor + 19.0,
                    escape(&tick.label)
                );
            }
        }
        let scale = if self.x.is_log { " (log scale)" } else { "" };
        let _ = writeln!(
            svg,
            "<text class=\"name mid\" x=\"{:.1}\" y=\"{}\">{}{scale}</text>",
            (left + right) / 2.0,
            HEIGHT - 6.0,
            self.x_name
        );
    }

    /// The horizontal line, above the others so that its name stays readable.
    fn named_rule(&self, plot: &Plot, svg: &mut String) {
        let Some((value, name)) = &self.rule else { return };
        if self.y.shows(*value) {
            let (y, right) = (plot.y(self.y.place(*value)), WIDTH - RIGHT);
            let _ = write!(
                svg,
                "<path class=\"rule\" d=\"M{:.1} {y:.1}H{right}\"/>\n<text class=\"name end\" \
                 x=\"{right}\" y=\"{:.1}\">{}</text>\n",
                plot.left,
                y + 15.0,
                escape(name)
            );
        }
    }

    /// Between a line and its floor, from where the floor begins.
    fn area(&self, plot: &Plot, line: &Line, svg: &mut String) {
        let Some(&(start, _)) = line.floor.first() else { return };
        let above = line.points.partition_point(|&(x, _)| x < start);
        let mut outline = self.steps(plot, &line.points[above..]);
        outline.extend(self.steps(plot, &line.floor).into_iter().rev());
        let colour = line.style % COLOURS;
        let _ = writeln!(svg, "<path class=\"area c{colour}\" d=\"{}Z\"/>", path(&outline));
    }

    fn end(&self, plot: &Plot, line: &Line, svg: &mut String) {
        let Some(&(x, y)) = line.points.last() else { return };
        if self.y.shows(y) && self.x.shows(x) {
            let _ = writeln!(
                svg,
                "<circle class=\"dot c{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.2\"><title>{}: {}</title>\
                 </circle>",
                line.style % COLOURS,
                plot.x(self.x.place(x)),
                plot.y(self.y.place(y)),
                escape(&line.name),
                escape(&line.summary)
            );
        }
    }

    /// The corners of a line.
    fn steps(&self, plot: &Plot, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for (at, &(x, y)) in points.iter().enumerate() {
            let (x, y) = (plot.x(self.x.place(x)), plot.y(self.y.place(y)));
            let Some(&(_, before)) = corners.last().filter(|_| !self.is_joined) else {
                corners.push((x, y));
                continue;
            };
            if (y - before).abs() >= VISIBLE || at + 1 == points.len() {
                corners.extend([(x, before), (x, y)]);
            }
        }
        corners
    }
}

/// Where the data is drawn.
struct Plot {
    left: f64,
}

impl Plot {
    fn x(&self, at: f64) -> f64 {
        self.left + at * (WIDTH - RIGHT - self.left)
    }

    fn y(&self, at: f64) -> f64 {
        HEIGHT - BOTTOM - at * (HEIGHT - BOTTOM - TOP)
    }
}

fn path(corners: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut at = (f64::NAN, f64::NAN);
    for &(x, y) in corners {
        let _ = match (at.0 == x, at.1 == y) {
            _ if path.is_empty() => write!(path, "M{x:.1} {y:.1}"),
            (true, true) => Ok(()),
            (true, false) => write!(path, "V{y:.1}"),
            (false, true) => write!(path, "H{x:.1}"),
            (false, false) => write!(path, "L{x:.1} {y:.1}"),
        };
        at = (x, y);
    }
    path
}
