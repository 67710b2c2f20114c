//! The HTML report: a page that stands alone (inline style and drawings, no scripts, nothing fetched),
//! says in plain words what is proven, and draws how it was found. `runs` has the page of one or
//! several runs on one problem, `path` that of a range of λ; `plane` and `residuals` are sections about the
//! model itself, for which they ask it for predictions. Running solvers, collecting the facts and writing the
//! file are the caller's work.

mod axis;
mod chart;
mod curves;
pub(crate) mod path;
pub(crate) mod plane;
pub(crate) mod residuals;
pub(crate) mod runs;
#[cfg(test)]
mod tests;
mod words;

use crate::number::NONE;
use words::Verdict;

/// What a page tells.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// The claim at the top.
    verdict: Verdict,
    /// Facts about the problem, as name and value.
    facts: Vec<(&'static str, String)>,
    pub(crate) sections: Vec<Section>,
    /// How to read the page, one entry a paragraph.
    reading: &'static [&'static str],
}

/// A section of a page; what is empty is left out.
#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    /// Text, one entry a paragraph.
    pub(crate) paragraphs: Vec<String>,
    /// Figures as HTML, side by side.
    pub(crate) figures: Vec<String>,
    /// A table by its columns, the first of which names the rows.
    pub(crate) table: Vec<Column>,
}

#[derive(Debug)]
pub(crate) struct Column {
    name: &'static str,
    cells: Vec<String>,
    is_best: Vec<bool>,
}

impl Column {
    /// A column of cells with ranks, of which the least is best. A cell without a rank does not
    /// compete; equal texts are equally good.
    fn new(name: &'static str, cells: impl Iterator<Item = (String, Option<f64>)>) -> Self {
        let (cells, ranks): (Vec<String>, Vec<Option<f64>>) = cells.unzip();
        let ranked = cells.iter().zip(&ranks).filter_map(|(cell, rank)| Some((cell, (*rank)?)));
        let finite = ranked.clone().filter(|(_, rank)| rank.is_finite());
        let best = finite.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| cells.len() > 1);
        let is_best = |(cell, rank): (&String, &Option<f64>)| {
            rank.is_some() && best.is_some_and(|(best, _)| best == cell)
        };
        let is_best = cells.iter().zip(&ranks).map(is_best).collect();
        Column { name, cells, is_best }
    }

    /// A column of cells that do not compete.
    fn plain(name: &'static str, cells: impl Iterator<Item = String>) -> Self {
        Column::new(name, cells.map(|cell| (cell, None)))
    }

    /// Whether there is nothing in the column.
    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell == NONE)
    }

    fn class(&self) -> &'static str {
        let is_number = |cell: &String| {
            let number = cell.trim_end_matches(['%', '\u{a0}', ' ']).replace('\u{202f}', "");
            cell.is_empty() || cell == NONE || number.parse::<f64>().is_ok()
        };
        if self.cells.iter().all(is_number) { "number" } else { "word" }
    }
}

impl Page {
    pub(crate) fn to_html(&self) -> String {
        let (version, title) = (env!("CARGO_PKG_VERSION"), escape(&self.title));
        let claim = format!(
            "<section class=\"verdict {}\">\n<h2>{}</h2>\n<p>{}</p>\n</section>\n",
            self.verdict.class,
            escape(&self.verdict.headline),
            escape(&self.verdict.sentences.join(" "))
        );
        let fact = |(name, value): &(&str, String)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
        };
        let mut facts: String = self.facts.iter().map(fact).collect();
        if !facts.is_empty() {
            facts = format!(
                "<section>\n<h2>The problem</h2>\n<dl class=\"facts\">\n{facts}</dl>\n</section>\n"
            );
        }
        let reading = self.reading.iter().map(ToString::to_string).collect();
        let reading =
            Section { heading: "How to read this page", paragraphs: reading, ..Section::default() };
        let sections = self.sections.iter().chain([&reading]).map(Section::to_html);
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Minorant {version}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header>
<p class="kicker">Minorant report</p>
<h1>{title}</h1>
</header>
{claim}{facts}{sections}</main>
<footer>Written by Minorant {version}.</footer>
</body>
</html>
"#,
            style = include_str!("style.css"),
            sections = sections.collect::<String>()
        )
    }
}

impl Section {
    fn to_html(&self) -> String {
        let mut html = format!("<section>\n<h2>{}</h2>\n", escape(self.heading));
        html.extend(self.paragraphs.iter().map(|text| format!("<p>{}</p>\n", escape(text))));
        if !self.figures.is_empty() {
            html += &format!("<div class=\"charts\">\n{}</div>\n", self.figures.concat());
        }
        if !self.table.is_empty() {
            html += &table(&self.table);
        }
        html + "</section>\n"
    }
}

const BEST: &str = "<p class=\"note\">Bold and underlined: the best of its column. Evaluations and \
                    seconds are compared among certified runs only.</p>\n";

/// A table. Wide ones scroll by themselves, also by keyboard.
fn table(columns: &[Column]) -> String {
    let classes: Vec<&str> = columns.iter().map(Column::class).collect();
    let cell = |at: usize, row: usize| {
        let (column, class) = (&columns[at], classes[at]);
        let element = if at == 0 { "th scope=\"row\"" } else { "td" };
        let (best, mark) = match column.is_best[row] {
            true => (" best", "<span class=\"unseen\"> (best)</span>"),
            false => ("", ""),
        };
        let text = escape(&column.cells[row]);
        format!("<{element} class=\"{class}{best}\">{text}{mark}</{}>", &element[..2])
    };
    let row = |row: usize| {
        let cells: String = (0..columns.len()).map(|at| cell(at, row)).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = (0..columns[0].cells.len()).map(row).collect();
    let name = |(column, class): (&Column, &&str)| {
        format!("<th scope=\"col\" class=\"{class}\">{}</th>", column.name)
    };
    let head: String = columns.iter().zip(&classes).map(name).collect();
    let has_best = columns.iter().any(|column| column.is_best.contains(&true));
    let note = if has_best { BEST } else { "" };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">\n<table>\n\
         <thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{note}"
    )
}

/// Text as HTML shows it, in elements and in attributes.
fn escape(text: &str) -> String {
    let escaped = |character: char| match character {
        '&' => "&amp;".into(),
        '<' => "&lt;".into(),
        '>' => "&gt;".into(),
        '"' => "&quot;".into(),
        '\'' => "&#39;".into(),
        // Control characters are not allowed in a page, escaped or not.
        c if c.is_control() && !c.is_ascii_whitespace() => "\u{fffd}".into(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}
