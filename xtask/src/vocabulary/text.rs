//! Splits text into identifiers and words.

/// A word: a part of an identifier, or a word of prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'t> {
    /// Text as written.
    pub text: &'t str,
    pub start: usize,
    pub line: usize,
}

impl Word<'_> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// An identifier, with `_`, or a word of prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    pub text: &'t str,
    pub start: usize,
    pub line: usize,
}

/// Returns the identifiers of a text, without those in URLs.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let (mut tokens, mut line, mut index) = (Vec::new(), 1, 0);
    while index < bytes.len() {
        let rest = &bytes[index..];
        if rest.starts_with(b"http://") || rest.starts_with(b"https://") {
            index += rest.iter().take_while(|byte| !byte.is_ascii_whitespace() && !b"\"')>]".contains(byte)).count();
        } else if is_word(bytes[index]) {
            let len = rest.iter().take_while(|byte| is_word(**byte)).count();
            tokens.push(Token { text: &text[index..index + len], start: index, line });
            index += len;
        } else {
            line += usize::from(bytes[index] == b'\n');
            index += 1;
        }
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Splits an identifier at `_` and where a capital letter begins a word: `two_words`, `TwoWords` and `TWO_WORDS`.
pub fn words<'t>(token: &Token<'t>) -> Vec<Word<'t>> {
    let bytes = token.text.as_bytes();
    let (mut words, mut start) = (Vec::new(), 0);
    let mut push = |from: usize, to: usize| {
        if from < to {
            words.push(Word { text: &token.text[from..to], start: token.start + from, line: token.line });
        }
    };
    for index in 0..bytes.len() {
        let previous = index.checked_sub(1).map(|before| bytes[before]);
        let next = bytes.get(index + 1);
        let begins_word = bytes[index].is_ascii_uppercase()
            && previous.is_some_and(|previous| {
                previous.is_ascii_lowercase()
                    || (previous.is_ascii_uppercase() && next.is_some_and(u8::is_ascii_lowercase))
            });
        if bytes[index] == b'_' {
            push(start, index);
            start = index + 1;
        } else if begins_word {
            push(start, index);
            start = index;
        }
    }
    push(start, bytes.len());
    words
}

/// Returns `true` if two words that have this text between them belong to one phrase. Between lines, comment markers
/// may occur.
pub fn joins(between: &str) -> bool {
    let is_wrapped = between.contains('\n');
    between.chars().all(|c| c.is_whitespace() || c == '_' || c == '-' || (is_wrapped && "/*!#>\\".contains(c)))
}

/// Returns the first line of each doc comment, with its number.
pub fn doc_comments(text: &str) -> Vec<(usize, &str)> {
    let mut starts = Vec::new();
    let mut was_doc = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let doc = ["///", "//!", "/**"].iter().find_map(|marker| line.strip_prefix(marker));
        if let (Some(doc), false) = (doc, was_doc) {
            starts.push((number, doc.trim_start()));
        }
        was_doc = doc.is_some();
    }
    starts
}
