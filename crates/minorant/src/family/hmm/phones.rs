//! The phone error of labelled frames: a sequence is read as the runs of equal labels in it, and the error
//! is the number of insertions, deletions and substitutions that lead from what was said to the truth, as a
//! share of the runs in the truth. It may be above 1.

/// The phone error of labels, each given by the names of the labels and by their numbers, over sequences.
pub(super) fn phone_error(
    (own, said): (&[String], &[u32]),
    (theirs, truth): (&[String], &[u32]),
    starts: &[usize],
) -> f64 {
    let (mut errors, mut all) = (0, 0);
    for span in starts.windows(2) {
        let said = runs(own, &said[span[0]..span[1]]);
        let truth = runs(theirs, &truth[span[0]..span[1]]);
        errors += edit_distance(&said, &truth);
        all += truth.len();
    }
    errors as f64 / all.max(1) as f64
}

/// The labels without those that repeat the one before.
fn runs<'n>(names: &'n [String], labels: &[u32]) -> Vec<&'n str> {
    let mut runs: Vec<&str> = labels.iter().map(|label| names[*label as usize].as_str()).collect();
    runs.dedup();
    runs
}

/// The fewest insertions, deletions and substitutions that lead from one word to the other.
fn edit_distance(from: &[&str], to: &[&str]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Vec<&str> {
        text.split("").filter(|letter| !letter.is_empty()).collect()
    }

    #[test]
    fn distances_of_words() {
        let cases = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
            ("abc", "abxc", 1),
        ];
        for (from, to, distance) in cases {
            assert_eq!(edit_distance(&word(from), &word(to)), distance, "{from} {to}");
            assert_eq!(edit_distance(&word(to), &word(from)), distance, "{to} {from}");
        }
    }

    /// Runs count, however long they are, and labels are compared by their names.
    #[test]
    fn frames_are_read_as_runs() {
        let own: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        let theirs: Vec<String> = ["b", "a", "c"].map(String::from).to_vec();
        let starts = [0, 5, 8];
        let truth = [1, 1, 0, 0, 2, 2, 2, 1];
        let same = [0, 1, 1, 1, 2, 2, 0, 0];
        assert_eq!(phone_error((&own, &same), (&theirs, &truth), &starts), 0.0);
        // From a c a to a b c it takes two edits.
        let other = [0, 2, 2, 0, 0, 2, 0, 0];
        assert_eq!(phone_error((&own, &other), (&theirs, &truth), &starts), 2.0 / 5.0);
    }
}
