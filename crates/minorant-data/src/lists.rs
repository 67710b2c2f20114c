//! Lists of numbers in small text files: weights of examples, what confusing labels costs, bounds on
//! columns. What the numbers mean, and how many there must be, is for others to say.

use std::path::Path;

/// The finite numbers of a text file, separated by blanks, commas, semicolons or line ends.
pub fn read_numbers(path: &Path) -> Result<Vec<f64>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|why| format!("{name}: {why}"))?;
    let mut numbers = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let words = content.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
        for word in words.filter(|word| !word.is_empty()) {
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            let wrong = || format!("{name}:{}: expected a number, found '{word}'", line + 1);
            numbers.push(number.ok_or_else(wrong)?);
        }
    }
    Ok(numbers)
}

/// The bounds of columns in a CSV file: on each line the number of a column, its least and its greatest
/// value, as three numbers; an empty cell is no bound. A first line that does not begin with a number is
/// a heading.
pub fn read_bounds(path: &Path) -> Result<Vec<f64>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|why| format!("{name}: {why}"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut bounds = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let cells: Vec<&str> = content.split(',').map(str::trim).collect();
        let is_heading = line == 0 && cells[0].parse::<f64>().is_err() && !cells[0].is_empty();
        if content.trim().is_empty() || is_heading {
            continue;
        }
        let wrong = |found: &str| {
            let line = line + 1;
            format!(
                "{name}:{line}: expected a column, its least and its greatest value, found '{found}'"
            )
        };
        let [column, least, greatest] = cells[..] else { return Err(wrong(content.trim())) };
        let number = |cell: &str, none: Option<f64>| match (cell, none) {
            ("", Some(none)) => Ok(none),
            _ => cell.parse::<f64>().ok().filter(|x| !x.is_nan()).ok_or_else(|| wrong(cell)),
        };
        bounds.push(number(column, None)?);
        bounds.push(number(least, Some(f64::NEG_INFINITY))?);
        bounds.push(number(greatest, Some(f64::INFINITY))?);
    }
    Ok(bounds)
}
