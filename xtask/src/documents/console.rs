//! Code blocks of a document. `console` blocks have commands, each after `$ `, and what they print. In it, a line `...`
//! stands for any lines, and `...` within a line for any text.

use anyhow::{Context, Result, ensure};

/// A command and what it must print.
pub struct Step {
    pub line: String,
    expected: Vec<String>,
}

impl Step {
    /// Fails unless the output is as expected. Output on standard error follows that on standard output.
    pub fn check(&self, output: &str) -> Result<()> {
        let actual: Vec<&str> = output.lines().collect();
        let expected: Vec<&str> = self.expected.iter().map(String::as_str).collect();
        ensure!(
            lines_match(&expected, &actual),
            "it prints something else:\n{output}\nexpected:\n{}",
            expected.join("\n")
        );
        Ok(())
    }
}

/// Mark of a block that is run although not all of its document is.
const RUN: &str = "<!-- run -->";

/// Returns the commands of all `console` blocks.
pub fn commands(document: &str) -> Vec<Step> {
    steps(fenced(document).into_iter().filter(|block| block.language == "console"))
}

/// Returns the commands of the blocks that are marked.
pub fn marked_commands(document: &str) -> Vec<Step> {
    steps(fenced(document).into_iter().filter(|block| block.mark == RUN))
}

fn steps(blocks: impl Iterator<Item = Block>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks {
        for line in block.text.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { line: command.to_owned(), expected: Vec::new() }),
                (None, Some(step)) => step.expected.push(line.to_owned()),
                (None, None) => {}
            }
        }
    }
    steps
}

/// Returns the contents of all code blocks, with their language.
pub fn blocks(document: &str) -> Vec<String> {
    fenced(document).into_iter().map(|block| format!("{}\n{}", block.language, block.text)).collect()
}

/// Returns the contents of all `console` blocks, without the comments behind commands.
pub fn consoles(document: &str) -> Vec<String> {
    let plain = |line: &str| match line.split_once("  # ") {
        Some((command, _)) if line.starts_with("$ ") => command.trim_end().to_owned() + "\n",
        _ => line.to_owned() + "\n",
    };
    let blocks = fenced(document).into_iter().filter(|block| block.language == "console");
    blocks.map(|block| block.text.lines().map(plain).collect()).collect()
}

/// Returns the blocks that quote a file: name and contents.
pub fn quoted_files(document: &str) -> Vec<(String, String)> {
    let name = |mark: &str| Some(mark.strip_prefix("<!-- file: ")?.strip_suffix(" -->")?.to_owned());
    fenced(document).into_iter().filter_map(|block| Some((name(&block.mark)?, block.text))).collect()
}

/// Returns the block that is drawn.
pub fn pictured(document: &str) -> Result<String> {
    let block = fenced(document).into_iter().find(|block| block.mark.starts_with("<!-- picture: "));
    Ok(block.context("no block of the tutorial is marked as a picture")?.text)
}

struct Block {
    /// The line above the block.
    mark: String,
    language: String,
    text: String,
}

fn fenced(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut previous = "";
    for line in document.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Block { mark: previous.into(), language: language.into(), text: String::new() });
            }
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
        previous = line;
    }
    blocks
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..]))
        }
        Some((first, rest)) => {
            actual.split_first().is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others))
        }
    }
}

/// Compares a line. Spaces at its end do not count.
fn line_matches(expected: &str, actual: &str) -> bool {
    let (expected, actual) = (expected.trim_end(), actual.trim_end());
    let Some((start, rest)) = expected.split_once("...") else { return expected == actual };
    let Some(mut left) = actual.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split("...").collect();
    let (last, middle) = parts.split_last().expect("a split has at least one part");
    for part in middle {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(expected: &str, actual: &str) -> bool {
        let step = Step { line: String::new(), expected: expected.lines().map(str::to_owned).collect() };
        step.check(actual).is_ok()
    }

    #[test]
    fn dots_stand_for_text_and_for_lines() {
        assert!(matches("a\n...\nd", "a\nb\nc\nd"));
        assert!(matches("a\n...\nd", "a\nd"));
        assert!(!matches("a\n...\nd", "a\nb"));
        assert!(matches("at ..., pinned", "at 0x7f00, pinned"));
        assert!(matches("process ..., 16 tasks ... moved", "process 7, 2 ms, 16 tasks on 1 stream, 1 MiB moved"));
        assert!(!matches("process ..., 16 tasks", "process 7, 2 ms, 15 tasks"));
        assert!(!matches("one line", "one line\nand another"));
    }

    #[test]
    fn consoles_have_no_comments_behind_commands() {
        let text = "```console\n$ run     # comment\n#  output\n$ sh -c 'a #b'\n```\n```sh\n$ x  # y\n```\n";
        assert_eq!(consoles(text), ["$ run\n#  output\n$ sh -c 'a #b'\n"]);
    }

    #[test]
    fn blocks_are_found_with_their_marks() {
        let text = "<!-- file: a.py -->\n```python\nx = 1\n```\n\n```console\n$ one\n1\n$ two\n```\n```sh\n$ no\n```\n";
        assert_eq!(quoted_files(text), [("a.py".to_owned(), "x = 1\n".to_owned())]);
        let steps = commands(text);
        assert_eq!(steps.iter().map(|step| step.line.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        let marked = marked_commands(&text.replace("<!-- file: a.py -->\n```python\n", "<!-- run -->\n```console\n$ "));
        assert_eq!(marked.iter().map(|step| step.line.as_str()).collect::<Vec<_>>(), ["x = 1"]);
        assert!(steps[0].check("1\n").is_ok() && steps[1].check("").is_ok() && steps[1].check("1").is_err());
    }
}
