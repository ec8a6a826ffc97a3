//! Draws a console block as a picture of a terminal, for the front page. The colors are those of the command.

use std::fmt::Write as _;

const LINE_HEIGHT: usize = 19;
const TOP: usize = 44;
const COLUMNS: usize = 106;
/// Words at the start of a line of a report, which the command prints in bold.
const ROLES: [&str; 6] = ["the copy", "the write", "allocated here", "fix ", "seen ", "repeat "];

/// Returns the SVG of a block.
pub fn of(block: &str) -> String {
    let lines: Vec<&str> = block.lines().collect();
    let height = TOP + lines.len() * LINE_HEIGHT + 12;
    let width = COLUMNS * 8 + 32;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"softacl check proves a missing wait\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#16181d\"/>\n\
         <circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#febc2e\"/>\
         <circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#28c840\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"13\">\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let (color, weight) = style(line);
        let y = TOP + 10 + index * LINE_HEIGHT;
        writeln!(svg, "<text x=\"16\" y=\"{y}\" fill=\"{color}\"{weight}>{}</text>", escape(line))
            .expect("writing to a String cannot fail");
    }
    svg + "</g>\n</svg>\n"
}

fn style(line: &str) -> (&'static str, &'static str) {
    const BOLD: &str = " font-weight=\"bold\"";
    let text = line.trim_start();
    if line.starts_with("$ ") {
        ("#7ee787", BOLD)
    } else if line.starts_with("PROVEN") {
        ("#ff7b72", BOLD)
    } else if text.starts_with(|first: char| first.is_ascii_digit()) && text.contains(" | ") {
        ("#79c0ff", "")
    } else if ROLES.iter().any(|role| text.starts_with(role)) {
        ("#f0f3f6", BOLD)
    } else {
        ("#adb5c0", "")
    }
}

/// Spaces become fixed ones, because viewers differ in how they collapse the others.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn every_line_is_drawn_and_escaped() {
        let svg = of("$ a && b\nPROVEN H1 <x>\n");
        assert_eq!(svg.matches("<text").count(), 2);
        assert!(svg.contains("$\u{a0}a\u{a0}&amp;&amp;\u{a0}b") && svg.contains("&lt;x&gt;"), "{svg}");
    }
}
