//! The page that a run writes: sections of tables, once as Markdown and once as HTML, with the
//! machine that they were measured on. Nothing here measures anything.

use crate::curves::Curves;
use anyhow::{Context, Result};
use minorant::system::{bytes_of, line_of};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A table with a line under its heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// What one benchmark found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) paragraphs: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) curves: Vec<Curves>,
    pub(crate) drawings: Vec<Drawing>,
}

/// A picture with the numbers that it shows.
#[derive(Debug, Clone)]
pub(crate) struct Drawing {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) svg: String,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(title: &str, note: &str, head: &[&str]) -> Table {
        let head = head.iter().map(ToString::to_string).collect();
        Table { title: title.into(), note: note.into(), head, rows: Vec::new() }
    }
}

impl Section {
    /// A section without tables yet.
    pub(crate) fn new(title: &str, paragraph: &str) -> Section {
        let (title, paragraphs) = (title.into(), vec![paragraph.into()]);
        Section { title, paragraphs, ..Section::default() }
    }

    /// A section that could not be run.
    pub(crate) fn skipped(title: &str, why: &str) -> Section {
        Section::new(title, &format!("Skipped: {why}"))
    }
}

/// The machine and the compiler, in one line.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = line_of("/proc/cpuinfo", "model name").unwrap_or("unknown".into());
    let mut facts = vec![format!("{processor}, {cores} cores")];
    facts.extend(caches());
    let memory = bytes_of("/proc/meminfo", "MemTotal");
    facts.extend(memory.map(|b| format!("{:.0} GiB of memory", b as f64 / f64::from(1 << 30))));
    let system = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    facts.push(format!("{} {}", std::env::consts::OS, system.trim()).trim().into());
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    facts.push(rustc.map_or("unknown compiler".into(), |text| text.trim().to_owned()));
    facts.push(format!("Minorant {}", env!("CARGO_PKG_VERSION")));
    facts.join("; ")
}

/// The larger caches of a core, where the system tells.
fn caches() -> Option<String> {
    let told = |index: usize, what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
        Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
    };
    let of = |index| Some(format!("L{} {}iB", told(index, "level")?, told(index, "size")?));
    let caches: Vec<String> = (2..4).filter_map(of).collect();
    (!caches.is_empty()).then(|| caches.join(", "))
}

/// Writes `report.md` and `report.html` into a folder; `how` is the command that measures.
pub(crate) fn write(folder: &Path, how: &str, sections: &[Section]) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let machine = format!("Measured by `{how}` on: {}.", machine());
    let pages =
        [("report.md", markdown(&machine, sections)), ("report.html", html(&machine, sections))];
    let mut paths = Vec::new();
    for (name, text) in pages {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        paths.push(path);
    }
    Ok(paths)
}

fn markdown(machine: &str, sections: &[Section]) -> String {
    let mut text = format!("# Minorant: benchmarks\n\n{machine}\n");
    for section in sections {
        let _ = write!(text, "\n## {}\n", section.title);
        for paragraph in &section.paragraphs {
            let _ = write!(text, "\n{paragraph}\n");
        }
        for table in &section.tables {
            text += &markdown_table(&table.title, &table.note, &table.head, &table.rows);
        }
        for curves in &section.curves {
            let (head, rows) = curves.table();
            text += &markdown_table(&curves.title, &curves.note, &head, &rows);
        }
        for drawing in &section.drawings {
            text += &markdown_table(&drawing.title, &drawing.note, &drawing.head, &drawing.rows);
        }
    }
    text
}

fn markdown_table(title: &str, note: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let mut text = format!("\n### {title}\n");
    if !note.is_empty() {
        let _ = write!(text, "\n{note}\n");
    }
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    text += "\n";
    text += &row(head);
    text += &row(&vec!["---".into(); head.len()]);
    rows.iter().for_each(|cells| text += &row(cells));
    text
}

const STYLE: &str = ":root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
color:light-dark(#1b1b1f,#e6e6ea);background:light-dark(#fff,#16161a)}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.3rem .7rem;text-align:right;white-space:nowrap;\
border-bottom:1px solid light-dark(#ddd,#3a3a42)}\
th:first-child,td:first-child{text-align:left}\
tr:hover td{background:light-dark(#f3f4f8,#222229)}\
.machine,.note{color:light-dark(#555,#a5a5ad)}h2{margin-top:2.5rem}";

fn html(machine: &str, sections: &[Section]) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Minorant: benchmarks</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Minorant: benchmarks</h1>\n<p class=\"machine\">{}</p>\n",
        escape(machine)
    );
    for section in sections {
        let _ = writeln!(text, "<section>\n<h2>{}</h2>", escape(&section.title));
        for paragraph in &section.paragraphs {
            let _ = writeln!(text, "<p>{}</p>", escape(paragraph));
        }
        for table in &section.tables {
            html_heading(&mut text, &table.title, &table.note);
            html_table(&mut text, &table.head, &table.rows);
        }
        for curves in &section.curves {
            html_heading(&mut text, &curves.title, &curves.note);
            text += &curves.svg();
            let (head, rows) = curves.table();
            html_table(&mut text, &head, &rows);
        }
        for drawing in &section.drawings {
            html_heading(&mut text, &drawing.title, &drawing.note);
            text += &drawing.svg;
            html_table(&mut text, &drawing.head, &drawing.rows);
        }
        text += "</section>\n";
    }
    text + "</body>\n</html>\n"
}

fn html_heading(text: &mut String, title: &str, note: &str) {
    let _ = writeln!(text, "<h3>{}</h3>", escape(title));
    if !note.is_empty() {
        let _ = writeln!(text, "<p class=\"note\">{}</p>", escape(note));
    }
}

fn html_table(text: &mut String, head: &[String], rows: &[Vec<String>]) {
    *text += "<div class=\"scroll\"><table>\n<thead><tr>";
    head.iter().for_each(|cell| *text += &format!("<th>{}</th>", escape(cell)));
    *text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        *text += "<tr>";
        row.iter().for_each(|cell| *text += &format!("<td>{}</td>", escape(cell)));
        *text += "</tr>\n";
    }
    *text += "</tbody></table></div>\n";
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_pages_carry_every_table() {
        let mut section = Section::new("Counts", "What was counted.");
        let mut table = Table::new("a < b", "A note.", &["set", "count"]);
        table.rows.push(vec!["a9a".into(), "26".into()]);
        section.tables.push(table);
        let sections = [section, Section::skipped("Peers", "there is no data")];
        let page = markdown("a machine", &sections);
        assert!(page.contains("| a9a | 26 |") && page.contains("Skipped: there is no data"));
        let page = html("a machine", &sections);
        assert!(page.contains("<td>a9a</td><td>26</td>") && page.contains("a &lt; b"));
    }
}
