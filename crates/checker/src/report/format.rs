//! Words that all renderings share: places, actors, commands. Nothing here knows about colour or markup.

use crate::finding::{Actor, Frame, Mode, ReportedOperation};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// `app.c:42 in upload`, or what is known instead.
pub fn place(frame: &Frame) -> String {
    let function = frame.function.as_deref().filter(|name| !name.is_empty());
    let site = match (&frame.file, frame.line, &frame.module) {
        (Some(file), Some(line), _) => format!("{}:{line}", short(file)),
        (Some(file), None, _) => short(file),
        (None, _, Some(module)) => format!("{}+{:#x}", short(module), frame.offset),
        (None, _, None) => return function.map_or("an unknown place".to_owned(), plain),
    };
    plain(&match function {
        Some(function) => format!("{site} in {function}"),
        None => site,
    })
}

/// A path as one says it: relative to the working directory if it is below it.
fn short(path: &str) -> String {
    let path = tidy(path);
    let here = std::env::current_dir().ok();
    let below = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(&path).display().to_string()
}

/// A path without `.` and `..`, which compilers leave in the names of headers.
pub fn tidy(path: &str) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in Path::new(path).components() {
        let is_named = matches!(tidy.components().next_back(), Some(Component::Normal(_)));
        match component {
            Component::CurDir => {}
            Component::ParentDir if is_named => {
                tidy.pop();
            }
            component => tidy.push(component),
        }
    }
    tidy
}

/// `stream 2, task 7` or `thread 1`.
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

/// Without characters that a terminal would obey: names come from the program.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// As the text of a page or the value of an attribute.
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

/// `3 times`.
pub fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// A word as a shell takes it. Bytes that are no text, or that a terminal would obey, are written as numbers, which bash
/// and its relatives read.
pub fn quote(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%^".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(harmless) => text.to_owned(),
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => format!("$'{}'", numbered(word.as_bytes())),
    }
}

fn numbered(bytes: &[u8]) -> String {
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
    fn a_place_says_what_is_known() {
        let mut frame = Frame {
            function: Some("upload".into()),
            file: Some("/src/app.c".into()),
            line: Some(42),
            module: Some("/bin/app".into()),
            offset: 0x11f0,
        };
        assert_eq!(place(&frame), "/src/app.c:42 in upload");
        frame.function = Some("up\x1b[31mload".into());
        frame.file = None;
        assert_eq!(place(&frame), "/bin/app+0x11f0 in up [31mload");
        frame.function = None;
        assert_eq!(place(&frame), "/bin/app+0x11f0");
        frame.module = None;
        assert_eq!(place(&frame), "an unknown place");
        let here = std::env::current_dir().unwrap().join("src/lib.rs");
        frame.file = Some(here.display().to_string());
        frame.line = Some(1);
        assert_eq!(place(&frame), "src/lib.rs:1");
    }

    #[test]
    fn paths_are_told_without_detours() {
        for (path, expected) in [
            ("/src/case/../zoo.h", "/src/zoo.h"),
            ("./app.c", "app.c"),
            ("../app.c", "../app.c"),
            ("a/../../b.c", "../b.c"),
        ] {
            assert_eq!(tidy(path), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn words_survive_a_shell() {
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
