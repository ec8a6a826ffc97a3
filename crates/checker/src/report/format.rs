//! Formatting shared by all renderers: locations, actors, commands. Independent of color and markup.

use crate::finding::{Actor, Frame, Mode, ReportedOperation};
use crate::source_path;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Formats a frame as `app.c:42 in upload`, or as the module and offset if the line is unknown.
pub fn location(frame: &Frame) -> String {
    let function = frame.function.as_deref().filter(|name| !name.is_empty());
    let site = match (&frame.file, frame.line, &frame.module) {
        (Some(file), Some(line), _) => format!("{}:{line}", short(file)),
        (Some(file), None, _) => short(file),
        (None, _, Some(module)) => format!("{}+{:#x}", short(module), frame.offset),
        (None, _, None) => return function.map_or("an unknown location".to_owned(), plain),
    };
    plain(&match function {
        Some(function) => format!("{site} in {function}"),
        None => site,
    })
}

/// Path relative to the working directory if it is below it.
fn short(path: &str) -> String {
    let path = source_path::tidy(path);
    let directory = std::env::current_dir().ok();
    let below = directory.as_deref().and_then(|directory| path.strip_prefix(directory).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(&path).display().to_string()
}

/// Formats the actor as `stream 2, task 7, submitted by thread 1` or `thread 1`.
pub fn actor(operation: &ReportedOperation) -> String {
    match operation.actor {
        Actor::Thread { thread } => format!("thread {thread}"),
        Actor::Stream { stream, sequence } => {
            format!("stream {stream}, task {sequence}, submitted by thread {}", operation.thread)
        }
    }
}

pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Read => "reads",
        Mode::Write => "writes",
    }
}

/// Replaces control characters, which a terminal would interpret. Names come from the program.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Escapes text for HTML content and attribute values.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c if c.is_control() && c != '\n' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Formats a count as `once`, `twice` or `3 times`.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Formats a number of omitted items as `1 more range` or `3 more ranges`.
pub fn more(count: usize, what: &str) -> String {
    format!("{count} more {what}{}", if count == 1 { "" } else { "s" })
}

/// Quotes a word for a shell. Control characters and bytes that are not UTF-8 become numeric escapes in `$'...'`,
/// which bash, zsh and ksh support.
pub fn quote(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%^".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => format!("$'{}'", escape_bytes(word.as_bytes())),
    }
}

fn escape_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    let number = |text: &mut String, bytes: &[u8]| bytes.iter().for_each(|byte| *text += &format!("\\x{byte:02x}"));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => text += "\\n",
                '\t' => text += "\\t",
                '\'' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => number(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => text.push(c),
            }
        }
        number(&mut text, chunk.invalid());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_falls_back_to_module_and_offset() {
        let mut frame = Frame {
            function: Some("upload".into()),
            file: Some("/src/app.c".into()),
            line: Some(42),
            module: Some("/bin/app".into()),
            offset: 0x11f0,
        };
        assert_eq!(location(&frame), "/src/app.c:42 in upload");
        frame.function = Some("up\x1b[31mload".into());
        frame.file = None;
        assert_eq!(location(&frame), "/bin/app+0x11f0 in up [31mload");
        frame.function = None;
        assert_eq!(location(&frame), "/bin/app+0x11f0");
        frame.module = None;
        assert_eq!(location(&frame), "an unknown location");
        let here = std::env::current_dir().unwrap().join("src/lib.rs");
        frame.file = Some(here.display().to_string());
        frame.line = Some(1);
        assert_eq!(location(&frame), "src/lib.rs:1");
    }

    #[test]
    fn quoted_words_round_trip_through_a_shell() {
        for hostile in [
            &b"it's $HOME; `x`"[..],
            b"it's\n\t\x1b[31m\\ red",
            b"no text: \xff\xfe0",
            "\u{9b}31m caf\u{e9}".as_bytes(),
        ] {
            let quoted = quote(OsStr::from_bytes(hostile));
            assert!(!quoted.contains(char::is_control), "{quoted:?}");
            let output = std::process::Command::new("bash").args(["-c", &format!("printf %s {quoted}")]).output();
            assert_eq!(output.unwrap().stdout, hostile, "{quoted}");
        }
        assert_eq!(quote("./app"), "./app");
        assert_eq!(quote(""), "''");
    }
}
