//! Spelling suggestions for unknown words: names of chips, and those in fault rules and variables.

/// The closest of `words` with at most one edit per six letters of `word`, plus one.
pub fn closest_match<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let max_edits = 1 + word.len() / 6;
    // Skip the comparison of words whose lengths alone differ too much.
    let candidates = words.into_iter().filter(|other| other.len().abs_diff(word.len()) <= max_edits);
    let (edits, best) = candidates.map(|other| (distance(word, other), other)).min()?;
    (edits <= max_edits).then_some(best)
}

/// Edit distance: letters to change, insert, delete, or swap with the next one.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut cost = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_tolerate_one_edit_per_six_letters() {
        let words = ["copy", "fill", "allocation", "aclrtMemcpyAsync"];
        let expectations = [
            ("copi", Some("copy")),
            ("cpoy", Some("copy")),
            ("cop", Some("copy")),
            ("Copy", Some("copy")),
            ("alocatoin", Some("allocation")),
            ("aclrtMemCopyAsync", Some("aclrtMemcpyAsync")),
            ("memcpy", None),
            ("", None),
            ("ﬁll", None),
        ];
        for (word, near) in expectations {
            assert_eq!(closest_match(word, words), near, "{word}");
        }
    }
}
