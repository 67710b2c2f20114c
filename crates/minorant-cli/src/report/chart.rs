//! Draws one chart as a figure with an inline SVG: axes, lines (stepped or joined), a thinner one
//! for a lower bound, a legend. Colours and dashes are classes of the style sheet, so that
//! the page's theme decides them. `curves` and `path` choose values and scales.

use super::axis::Axis;
use super::escape;

/// One line, such as a solver's.
#[derive(Debug, Clone, Default)]
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

#[derive(Debug, Clone)]
pub(super) struct Chart {
    /// The title; no two charts of a page have the same.
    pub(super) title: String,
    pub(super) x_name: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    /// Single points beneath the lines.
    pub(super) dots: Vec<(f64, f64)>,
    /// A horizontal line with its name.
    pub(super) rule: Option<(f64, &'static str)>,
    /// Whether points are joined by straight lines; else each value holds until the next.
    pub(super) is_joined: bool,
    /// A remark below the chart, or why there are no lines.
    pub(super) note: String,
}

// Units of the drawing; the page scales it to the room there is.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 270.0;
const TOP: f64 = 12.0;
/// The right end of the axes, and the height of the lower one.
const RIGHT: f64 = WIDTH - 18.0;
const FLOOR: f64 = HEIGHT - 46.0;
/// Width of a digit in the largest text size that the style sheet sets.
const DIGIT: f64 = 8.9;
/// Changes too small to be seen are left out, so that a long trace is no large page.
const VISIBLE: f64 = 0.2;

/// Colours and dash patterns of the style sheet; as their numbers share no divisor, their
/// combinations repeat only after all of them have been used.
const COLOURS: usize = 6;
const DASHES: usize = 5;

/// A line along a path, where there is any.
pub(super) fn stroke(class: &str, d: &str) -> String {
    if d.is_empty() {
        return String::new();
    }
    format!("<path class=\"{class}\" d=\"{d}\"/>\n")
}

/// Text at a place, where there is any.
fn text(class: &str, x: f64, y: f64, words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escape(words))
}

/// A picture with its caption above, and what is to be said of it below.
pub(super) fn figure(caption: &str, picture: &str, note: &str) -> String {
    let (caption, note) = (escape(caption), escape(note));
    let note = if note.is_empty() { note } else { format!("<p class=\"note\">{note}</p>\n") };
    format!("<figure>\n<figcaption>{caption}</figcaption>\n{picture}{note}</figure>\n")
}

/// What the parts of a drawing are found by.
fn id(title: &str) -> String {
    title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// A drawing that is named and described for those who do not see it.
pub(super) fn svg(width: f64, height: f64, title: &str, about: &str, content: &str) -> String {
    let (id, title, about) = (id(title), escape(title), escape(about));
    format!(
        r#"<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-title {id}-desc">
<title id="{id}-title">{title}</title>
<desc id="{id}-desc">{about}</desc>
{content}</svg>
"#
    )
}

impl Line {
    fn class(&self) -> String {
        format!("c{} d{}", self.style % COLOURS, self.style % DASHES)
    }
}

impl Chart {
    /// A chart of lines over `x_name`, each value of which holds until the next.
    pub(super) fn new(title: String, x_name: &'static str, x: Axis, y: Axis) -> Self {
        let (lines, note) = (Vec::new(), String::new());
        Chart { title, x_name, x, y, lines, dots: Vec::new(), rule: None, is_joined: false, note }
    }

    pub(super) fn to_html(&self) -> String {
        if self.lines.is_empty() && self.dots.is_empty() {
            return figure(&self.title, "", &self.note);
        }
        let ends = self.lines.iter().map(|line| format!("{}: {}", line.name, line.summary));
        let about = match self.dots.len() {
            0 => format!("The lines end at: {}.", ends.collect::<Vec<_>>().join("; ")),
            dots => format!("{dots} points over {}.", self.x_name),
        };
        let drawn = svg(WIDTH, HEIGHT, &self.title, &about, &self.drawing());
        figure(&self.title, &format!("{}{drawn}", self.legend()), &self.note)
    }

    fn legend(&self) -> String {
        let item = |line: &Line| {
            let stroke = stroke(&format!("line {}", line.class()), "M0 4H30");
            let name = escape(&line.name);
            format!(
                "<li><svg class=\"key\" viewBox=\"0 0 30 8\" aria-hidden=\"true\">{stroke}</svg>{name}</li>\n"
            )
        };
        let items: String = self.lines.iter().map(item).collect();
        if items.is_empty() {
            return items;
        }
        format!("<ul class=\"legend\">\n{items}</ul>\n")
    }

    /// Where the vertical axis stands: right of its labels.
    fn left(&self) -> f64 {
        let longest = self.y.ticks.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
        14.0 + DIGIT * longest as f64
    }

    fn drawing(&self) -> String {
        let left = self.left();
        let (top, width, height) = (TOP - 2.0, RIGHT + 2.0 - left, FLOOR - TOP + 4.0);
        let (mut svg, id) = (self.axes(), id(&self.title));
        svg += &format!(
            "<clipPath id=\"{id}-clip\"><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" \
             height=\"{height}\"/></clipPath>\n<g clip-path=\"url(#{id}-clip)\">\n"
        );
        for &(x, y) in self.dots.iter().filter(|(x, y)| self.x.shows(*x) && self.y.shows(*y)) {
            let (x, y) = (left + self.x.place(x) * (RIGHT - left), up(self.y.place(y)));
            svg += &format!("<circle class=\"dot c5\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\"/>\n");
        }
        // Areas of several lines would hide each other.
        if let [line] = &self.lines[..] {
            svg += &self.area(line);
        }
        for line in &self.lines {
            for (class, points) in [("line thin", &line.floor), ("line", &line.points)] {
                svg += &stroke(&format!("{class} {}", line.class()), &path(&self.corners(points)));
            }
        }
        svg += "</g>\n";
        // The horizontal line stands above the others so that its name stays readable.
        if let Some((value, name)) = self.rule.filter(|(value, _)| self.y.shows(*value)) {
            let y = up(self.y.place(value));
            svg += &stroke("rule", &format!("M{left:.1} {y:.1}H{RIGHT}"));
            svg += &text("name end", RIGHT, y + 15.0, name);
        }
        svg.extend(self.lines.iter().map(|line| self.end(line)));
        svg
    }

    fn axes(&self) -> String {
        let left = self.left();
        let mut svg = String::new();
        for (at, label) in &self.y.ticks {
            let y = up(*at);
            let class = if label.is_empty() { "grid faint" } else { "grid" };
            svg += &stroke(class, &format!("M{left:.1} {y:.1}H{RIGHT}"));
            svg += &text("tick end", left - 7.0, y, label);
        }
        svg += &stroke("axis", &format!("M{left:.1} {FLOOR}H{RIGHT}"));
        for (at, label) in &self.x.ticks {
            let x = left + at * (RIGHT - left);
            let length = if label.is_empty() { 3 } else { 5 };
            svg += &stroke("axis", &format!("M{x:.1} {FLOOR}v{length}"));
            svg += &text("tick mid", x, FLOOR + 19.0, label);
        }
        let scale = if self.x.is_log { " (log scale)" } else { "" };
        let name = format!("{}{scale}", self.x_name);
        svg + &text("name mid", (left + RIGHT) / 2.0, HEIGHT - 6.0, &name)
    }

    /// Between a line and its floor, from where the floor begins.
    fn area(&self, line: &Line) -> String {
        let Some(&(start, _)) = line.floor.first() else { return String::new() };
        let above = line.points.partition_point(|&(x, _)| x < start);
        let mut outline = self.corners(&line.points[above..]);
        outline.extend(self.corners(&line.floor).into_iter().rev());
        stroke(&format!("area c{}", line.style % COLOURS), &format!("{}Z", path(&outline)))
    }

    fn end(&self, line: &Line) -> String {
        let shown = line.points.last().filter(|(x, y)| self.x.shows(*x) && self.y.shows(*y));
        let corner = self.corners(shown.map_or(&[], std::slice::from_ref)).pop();
        let (colour, name) = (line.style % COLOURS, escape(&line.name));
        let dot = corner.map(|(x, y)| {
            let summary = escape(&line.summary);
            format!("<circle class=\"dot c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"><title>{name}: {summary}</title></circle>\n")
        });
        dot.unwrap_or_default()
    }

    /// The corners of a line.
    fn corners(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let left = self.left();
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for (at, &(x, y)) in points.iter().enumerate() {
            let (x, y) = (left + self.x.place(x) * (RIGHT - left), up(self.y.place(y)));
            match corners.last() {
                Some(&(_, before)) if !self.is_joined => {
                    if (y - before).abs() >= VISIBLE || at + 1 == points.len() {
                        corners.extend([(x, before), (x, y)]);
                    }
                }
                _ => corners.push((x, y)),
            }
        }
        corners
    }
}

/// The height of a place on the vertical axis.
fn up(at: f64) -> f64 {
    FLOOR - at * (FLOOR - TOP)
}

/// The values of all lines.
pub(super) fn heights(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| &line.points).map(|&(_, y)| y)
}

pub(super) fn path(corners: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut at = (f64::NAN, f64::NAN);
    for &(x, y) in corners {
        path += &match (at.0 == x, at.1 == y) {
            _ if path.is_empty() => format!("M{x:.1} {y:.1}"),
            (true, true) => String::new(),
            (true, false) => format!("V{y:.1}"),
            (false, true) => format!("H{x:.1}"),
            (false, false) => format!("L{x:.1} {y:.1}"),
        };
        at = (x, y);
    }
    path
}
