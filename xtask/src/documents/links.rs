//! Links between Markdown files: the file exists, and it has the heading that the link names. Links to the web are not
//! followed.

use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks all links of the documents. Returns how many there are.
pub fn check(documents: &[PathBuf]) -> Result<usize> {
    let mut anchors: HashMap<PathBuf, Vec<String>> = HashMap::new();
    let (mut count, mut broken) = (0, Vec::new());
    for document in documents {
        let text = fs::read_to_string(document).with_context(|| format!("reading {}", document.display()))?;
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let directory = document.parent().unwrap_or(Path::new("."));
            let target = if path.is_empty() { document.clone() } else { directory.join(path) };
            if !target.exists() {
                broken.push(format!("{}: {link} does not exist", document.display()));
            } else if !anchor.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                if !anchors.contains_key(&target) {
                    anchors.insert(target.clone(), headings(&fs::read_to_string(&target)?));
                }
                if !anchors[&target].iter().any(|heading| heading == anchor) {
                    broken.push(format!("{}: {link}: there is no such heading", document.display()));
                }
            }
        }
    }
    ensure!(broken.is_empty(), "{} links lead nowhere:\n{}", broken.len(), broken.join("\n"));
    ensure!(count > 0, "the documents have no links");
    Ok(count)
}

/// Returns the targets of all links and images outside code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let mut rest = line.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            if let Some(end) = rest.find(')') {
                found.push(rest[..end].split(' ').next().unwrap_or_default().to_owned());
            }
        }
    }
    found
}

/// Returns the anchors of all headings, as GitHub makes them.
fn headings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in prose_with_code(text).into_iter().filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let keep = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
        let anchor: String =
            title.chars().filter(keep).map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let same = found.iter().filter(|other| **other == anchor).count();
        found.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
    }
    found
}

/// Returns the lines outside code blocks, without code within them.
fn prose(text: &str) -> Vec<String> {
    let without_code = |line: &str| line.split('`').step_by(2).collect::<String>();
    prose_with_code(text).into_iter().map(without_code).collect()
}

fn prose_with_code(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block && !line.starts_with("    ") {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found_outside_code() {
        let text = "# A b: `C`\n[x](y.md#z) ![p](q.svg) `[no](no.md)`\n```\n[no](no.md)\n# no\n```\n## A b: c\n";
        assert_eq!(links(text), ["y.md#z", "q.svg"]);
        assert_eq!(headings(text), ["a-b-c", "a-b-c-1"]);
    }

    #[test]
    fn missing_files_and_headings_are_reported() {
        let directory = std::env::temp_dir().join(format!("softacl-links-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let document = directory.join("a.md");
        for (text, part) in [("[x](gone.md)", "does not exist"), ("# Here\n[x](#there)", "no such heading")] {
            fs::write(&document, text).unwrap();
            assert!(check(&[document.clone()]).unwrap_err().to_string().contains(part));
        }
        fs::write(&document, "# Here\n[x](#here)").unwrap();
        assert_eq!(check(&[document]).unwrap(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
