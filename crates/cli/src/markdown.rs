//! Shows Markdown on a terminal: headings, emphasis, code, lists, and lines that fit. Not a full renderer: it knows what
//! the pages of findings use, and leaves everything else as it is.

/// Renders a page for a terminal of this width, with or without styles.
pub fn render(text: &str, width: usize, has_styles: bool) -> String {
    let style = Style { has_styles };
    let mut out = String::new();
    let (mut paragraph, mut is_code) = (String::new(), false);
    for line in text.lines().chain([""]) {
        let is_fence = line.trim_start().starts_with("```");
        let is_own_line =
            is_code || is_fence || line.starts_with('#') || line.starts_with('|') || line.starts_with("    ");
        let is_item = line.trim_start().starts_with("- ") || line.split_once(". ").is_some_and(|(n, _)| is_number(n));
        if line.is_empty() || is_own_line || is_item {
            flush(&mut paragraph, &mut out, width, &style);
        }
        match line {
            _ if is_fence => is_code = !is_code,
            _ if is_code => out += &format!("    {}\n", style.code(line)),
            _ if line.starts_with('#') => out += &format!("{}\n", style.bold(line.trim_start_matches('#').trim())),
            _ if is_own_line => out += &format!("{line}\n"),
            "" if !out.ends_with("\n\n") && !out.is_empty() => out.push('\n'),
            "" => {}
            _ => {
                if !paragraph.is_empty() {
                    paragraph.push(' ');
                }
                paragraph += if paragraph.is_empty() { line } else { line.trim_start() };
            }
        }
    }
    out.trim_end().to_owned() + "\n"
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Writes a paragraph or the item of a list, whose further lines are indented like its text.
fn flush(paragraph: &mut String, out: &mut String, width: usize, style: &Style) {
    let text = std::mem::take(paragraph);
    let indent = text.len() - text.trim_start().len();
    let mark = match text.trim_start().split_once(' ') {
        Some(("-", _)) => indent + 2,
        Some((number, _)) if number.strip_suffix('.').is_some_and(is_number) => indent + number.len() + 1,
        _ => indent,
    };
    let mut used = 0;
    for word in spans(&text) {
        let len = plain(&word).chars().count();
        if used > mark && used + 1 + len > width.max(20) {
            out.push('\n');
            *out += &" ".repeat(mark);
            used = mark;
        } else if used > mark {
            out.push(' ');
            used += 1;
        } else if used == 0 {
            *out += &" ".repeat(indent);
            used = indent;
        } else {
            out.push(' ');
        }
        *out += &style.inline(&word);
        used += len;
    }
    if used > 0 {
        out.push('\n');
    }
}

/// Splits a text at spaces that are not inside code or emphasis.
fn spans(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = String::new();
    for word in text.split_whitespace() {
        let joined = if open.is_empty() { word.to_owned() } else { format!("{open} {word}") };
        let is_open = joined.matches('`').count() % 2 == 1;
        if is_open {
            open = joined;
        } else {
            words.push(joined);
            open.clear();
        }
    }
    words.extend((!open.is_empty()).then_some(open));
    words
}

/// The text of a word without its marks.
fn plain(word: &str) -> String {
    word.replace("**", "").replace('`', "")
}

struct Style {
    has_styles: bool,
}

impl Style {
    fn bold(&self, text: &str) -> String {
        if self.has_styles { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn code(&self, text: &str) -> String {
        if self.has_styles { format!("\x1b[36m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Replaces marks by styles. Emphasis may begin in one word and end in another.
    fn inline(&self, word: &str) -> String {
        let (mut out, mut rest) = (String::new(), word);
        while let Some(at) = rest.find(['`', '*']) {
            out += &rest[..at];
            rest = &rest[at..];
            if let Some(code) = rest.strip_prefix('`')
                && let Some((inside, after)) = code.split_once('`')
            {
                out += &self.code(inside);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("**") {
                let is_opening = after.starts_with(|c: char| c.is_alphanumeric() || c == '`');
                if self.has_styles {
                    out += if is_opening { "\x1b[1m" } else { "\x1b[0m" };
                }
                rest = after;
            } else {
                out += &rest[..1];
                rest = &rest[1..];
            }
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# H1: a title\n\nSeverity: **proven**. See `a b`,\nand more.\n\n- one `x` two\n  three\n- four\n\n```c\nf(1);\n```\n";

    #[test]
    fn marks_become_text_that_fits() {
        let expected =
            "H1: a title\n\nSeverity: proven. See\na b, and more.\n\n- one x two three\n- four\n\n    f(1);\n";
        assert_eq!(render(PAGE, 22, false), expected);
        let narrow = render("- alpha beta gamma delta epsilon\n", 20, false);
        assert_eq!(narrow, "- alpha beta gamma\n  delta epsilon\n");
    }

    #[test]
    fn styles_are_closed() {
        let text = render(PAGE, 80, true);
        assert!(text.starts_with("\x1b[1mH1: a title\x1b[0m\n"), "{text:?}");
        assert!(text.contains("\x1b[1mproven\x1b[0m. See \x1b[36ma b\x1b[0m,"), "{text:?}");
        assert_eq!(text.matches("\x1b[0m").count(), text.matches('\x1b').count() / 2);
    }
}
