//! Rules of `xtask/data/retired-words.txt`, and the search for them in a text.

use super::text::{Word, doc_comments, joins, tokens, words};
use anyhow::{Result, bail, ensure};
use std::collections::{HashMap, HashSet};

/// A retired word.
#[derive(Debug)]
pub struct Rule {
    /// Pattern as written.
    pub pattern: String,
    pub replacement: String,
    matcher: Matcher,
    /// Files and directories in which the word is allowed.
    allowed: Vec<String>,
}

#[derive(Debug)]
enum Matcher {
    /// Consecutive words in lower case. Those that end with `*` match a beginning.
    Words(Vec<String>),
    /// An identifier with an optional `*` at either end.
    Identifier(String),
    /// Beginning of a doc comment.
    DocStart(String),
}

/// A retired word in a text.
#[derive(Debug)]
pub struct Hit<'r> {
    pub line: usize,
    pub found: String,
    pub rule: &'r Rule,
}

/// All rules.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Word rules by their first word, if it has no `*`.
    by_word: HashMap<String, Vec<usize>>,
    /// Word rules whose first word ends with `*`.
    by_prefix: Vec<usize>,
    identifiers: Vec<usize>,
    doc_starts: Vec<usize>,
    skipped: Vec<String>,
    names: HashSet<String>,
}

impl Rules {
    /// Parses the list.
    pub fn parse(text: &str) -> Result<Rules> {
        let mut rules = Rules::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            match columns[..] {
                [entry] => match without_reason(entry).split_once(' ') {
                    Some(("skip", path)) => rules.skipped.push(path.trim().to_owned()),
                    Some(("name", name)) => drop(rules.names.insert(name.trim().to_owned())),
                    _ => bail!("retired-words.txt:{number}: PATTERN | REPLACEMENT expected"),
                },
                [pattern, replacement] => rules.add(pattern, replacement, ""),
                [pattern, replacement, paths] => rules.add(pattern, replacement, without_reason(paths)),
                _ => bail!("retired-words.txt:{number}: too many columns"),
            }
            ensure!(columns.iter().all(|column| !column.is_empty()), "retired-words.txt:{number}: a column is empty");
        }
        Ok(rules)
    }

    fn add(&mut self, pattern: &str, replacement: &str, paths: &str) {
        let index = self.rules.len();
        let matcher = if let Some(start) = pattern.strip_prefix('^') {
            self.doc_starts.push(index);
            Matcher::DocStart(start.to_owned())
        } else if let Some(name) = pattern.strip_prefix('`') {
            self.identifiers.push(index);
            Matcher::Identifier(name.trim_end_matches('`').to_owned())
        } else {
            let words: Vec<String> =
                pattern.to_lowercase().split([' ', '_']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
            if words[0].ends_with('*') {
                self.by_prefix.push(index);
            } else {
                self.by_word.entry(words[0].clone()).or_default().push(index);
            }
            Matcher::Words(words)
        };
        let allowed = paths.split_whitespace().map(str::to_owned).collect();
        self.rules.push(Rule { pattern: pattern.to_owned(), replacement: replacement.to_owned(), matcher, allowed });
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns `true` if a file is not searched.
    pub fn is_skipped(&self, path: &str) -> bool {
        self.skipped.iter().any(|skipped| is_within(path, skipped))
    }

    /// Returns the retired words in a text, sorted by line.
    pub fn search(&self, path: &str, text: &str) -> Vec<Hit<'_>> {
        let tokens: Vec<_> = tokens(text).into_iter().filter(|token| !self.is_exempt(token.text)).collect();
        let mut hits = Vec::new();
        for token in &tokens {
            for rule in self.identifiers.iter().map(|index| &self.rules[*index]) {
                if matches!(&rule.matcher, Matcher::Identifier(name) if matches_identifier(token.text, name)) {
                    hits.push(Hit { line: token.line, found: token.text.to_owned(), rule });
                }
            }
        }
        let all: Vec<Word<'_>> = tokens.iter().flat_map(words).collect();
        for (index, word) in all.iter().enumerate() {
            let first = word.text.to_lowercase();
            let exact = self.by_word.get(&first).into_iter().flatten();
            for rule in exact.chain(&self.by_prefix).map(|rule| &self.rules[*rule]) {
                if let Matcher::Words(pattern) = &rule.matcher
                    && let Some(last) = match_words(text, &all[index..], pattern)
                {
                    let has_word = |part: &&str| part.contains(|c: char| c.is_ascii_alphanumeric());
                    let parts = text[word.start..last].split_whitespace().filter(has_word);
                    let found = parts.collect::<Vec<_>>().join(" ");
                    hits.push(Hit { line: word.line, found, rule });
                }
            }
        }
        for (line, comment) in doc_comments(text) {
            for rule in self.doc_starts.iter().map(|index| &self.rules[*index]) {
                if matches!(&rule.matcher, Matcher::DocStart(start) if begins_with_words(comment, start)) {
                    let found = comment.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
                    hits.push(Hit { line, found, rule });
                }
            }
        }
        hits.retain(|hit| !hit.rule.allowed.iter().any(|allowed| is_within(path, allowed)));
        hits.sort_by_key(|hit| hit.line);
        hits
    }

    /// Names of the C API and listed names are not searched.
    fn is_exempt(&self, token: &str) -> bool {
        token.starts_with("acl") || token.starts_with("ACL") || self.names.contains(token)
    }
}

/// Removes a trailing reason in parentheses.
fn without_reason(text: &str) -> &str {
    text.split_once('(').map_or(text, |(before, _)| before).trim()
}

fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn matches_identifier(token: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => token.ends_with(end),
        (None, Some(start)) => token.starts_with(start),
        (None, None) => token == pattern,
    }
}

/// Returns the end of the match if the words begin with the pattern.
fn match_words(text: &str, words: &[Word<'_>], pattern: &[String]) -> Option<usize> {
    let words = words.get(..pattern.len())?;
    let is_match = words.iter().zip(pattern).all(|(word, pattern)| matches_word(word.text, pattern))
        && words.windows(2).all(|pair| joins(&text[pair[0].end()..pair[1].start]));
    is_match.then(|| words.last().map_or(0, Word::end))
}

fn matches_word(word: &str, pattern: &str) -> bool {
    let word = word.to_lowercase();
    match pattern.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == pattern,
    }
}

/// Returns `true` if a text begins with these words and not only with a part of the last one.
fn begins_with_words(text: &str, start: &str) -> bool {
    text.strip_prefix(start).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# comment\nskip old (history)\nname keptTell (exported)\ntell | report\n\
        on purpose | deliberately\n\
        synchronis* | synchroniz*\n`tell_*` | emit_*\n`*_ordinary` | *_fast\n^The same | repeat it\n\
        patience | timeout | docs/a.md src (former name)\n";

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let rules = Rules::parse(LIST).expect("the list is valid");
        rules.search(path, text).into_iter().map(|hit| (hit.line, hit.found)).collect()
    }

    fn words_in(text: &str) -> Vec<String> {
        found("x.rs", text).into_iter().map(|(_, found)| found).collect()
    }

    #[test]
    fn words_are_found_in_prose_and_identifiers() {
        assert_eq!(words_in("Tell them. intellect retell tellx"), ["Tell"]);
        assert_eq!(words_in("fn will_tell(); struct WillTell; TELL"), ["tell", "Tell", "TELL"]);
        assert_eq!(words_in("Synchronises resynchronise"), ["Synchronises"]);
    }

    #[test]
    fn phrases_are_found_across_separators_and_lines() {
        assert_eq!(words_in("on purpose, on_purpose, OnPurpose, on-purpose").len(), 4);
        assert_eq!(found("x.rs", "/// It fails on\n    /// purpose.\n"), [(1, "on purpose".to_owned())]);
        assert!(words_in("on; purpose. on, purpose").is_empty());
    }

    #[test]
    fn identifiers_match_exactly_or_by_wildcard() {
        assert_eq!(words_in("copy_ordinary ordinary"), ["copy_ordinary"]);
        // The word rule and the identifier rule.
        assert_eq!(words_in("tell_submitted"), ["tell_submitted", "tell"]);
    }

    #[test]
    fn doc_comments_are_searched_at_their_beginning_only() {
        let text = "/// The same for b.\n/// The same again.\nfn f() {}\n//! The samely\n// The same\n";
        assert_eq!(found("x.rs", text), [(1, "The same for b.".to_owned())]);
    }

    #[test]
    fn exempt_names_paths_and_urls_are_not_searched() {
        assert!(words_in("aclTell ACL_TELL keptTell https://x.org/tell/on-purpose").is_empty());
        assert!(found("src/a.rs", "patience").is_empty() && found("docs/a.md", "patience").is_empty());
        assert_eq!(found("docs/b.md", "patience").len(), 1);
        let rules = Rules::parse(LIST).expect("the list is valid");
        assert!(rules.is_skipped("old/x.rs") && !rules.is_skipped("older/x.rs"));
    }

    #[test]
    fn list_of_the_project_is_valid() {
        let rules = Rules::parse(crate::vocabulary::RULES).expect("the list is valid");
        assert!(rules.len() > 100);
        for bad in ["word", "a | ", "a | b | c | d"] {
            assert!(Rules::parse(bad).is_err(), "{bad}");
        }
    }
}
