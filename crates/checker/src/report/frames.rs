//! Backtraces as a reader wants them: the program's frame leads, frames of system libraries are folded.

use super::format;
use crate::finding::{Backtrace, Frame};

/// A line of a backtrace: a frame, or several of one library.
pub enum BacktraceLine<'a> {
    Frame(&'a Frame),
    Folded { count: usize, library: String },
}

impl BacktraceLine<'_> {
    pub fn text(&self) -> String {
        match self {
            BacktraceLine::Frame(frame) => format::location(frame),
            BacktraceLine::Folded { count, library } => {
                format!("{count} frame{} of {library}", if *count == 1 { "" } else { "s" })
            }
        }
    }
}

/// The frames that the leading frame called, folded: `3 frames of libc.so.6`. `None` if there are none.
pub fn inside(place: &Backtrace) -> Option<String> {
    let lead = place.best()?;
    let inner: Vec<&Frame> = place.frames.iter().take_while(|frame| !std::ptr::eq(*frame, lead)).collect();
    let lines = fold(inner.into_iter(), |frame| Some(frame.library().unwrap_or_else(|| module(frame))));
    let texts: Vec<String> = lines.iter().map(BacktraceLine::text).collect();
    (!texts.is_empty()).then(|| format::plain(&texts.join(", ")))
}

/// The callers of the leading frame, innermost first.
pub fn callers(place: &Backtrace) -> Vec<BacktraceLine<'_>> {
    let Some(lead) = place.best() else { return Vec::new() };
    let outer = place.frames.iter().skip_while(|frame| !std::ptr::eq(*frame, lead)).skip(1);
    // Frames without any name, such as those of loaders, are left out.
    let known = outer.filter(|frame| frame.line.is_some() || frame.function.is_some());
    fold(known, Frame::library)
}

/// Joins neighbors of the same library. `library` returns `None` for a frame that is shown.
fn fold<'a>(
    frames: impl Iterator<Item = &'a Frame>,
    library: impl Fn(&Frame) -> Option<String>,
) -> Vec<BacktraceLine<'a>> {
    let mut lines: Vec<BacktraceLine<'a>> = Vec::new();
    for frame in frames {
        match (library(frame), lines.last_mut()) {
            (None, _) => lines.push(BacktraceLine::Frame(frame)),
            (Some(name), Some(BacktraceLine::Folded { count, library })) if *library == name => *count += 1,
            (Some(library), _) => lines.push(BacktraceLine::Folded { count: 1, library }),
        }
    }
    lines
}

fn module(frame: &Frame) -> String {
    let path = frame.module.as_deref().unwrap_or("code without a name");
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(module: &str, function: &str, line: Option<u32>) -> Frame {
        let file = line.map(|_| format!("/src/{function}.c"));
        let (function, module) = (Some(function.to_owned()), Some(module.to_owned()));
        Frame { function, file, line, module, offset: 16 }
    }

    fn shown(frames: Vec<Frame>) -> (Option<String>, Option<String>, Vec<String>) {
        let place = Backtrace { frames };
        let lead = place.best().map(format::location);
        (inside(&place), lead, callers(&place).iter().map(BacktraceLine::text).collect())
    }

    #[test]
    fn frame_of_the_program_leads_and_libraries_are_folded() {
        let libc = |function| frame("/lib/x86_64-linux-gnu/libc.so.6", function, Some(7));
        let frames = vec![
            libc("__memmove_avx"),
            libc("memcpy"),
            frame("/app/libplugin.so", "plug", None),
            frame("/app/main", "fill", Some(51)),
            libc("bsearch"),
            libc("qsort"),
            frame("/app/main", "main", Some(90)),
        ];
        let (inside, lead, callers) = shown(frames);
        assert_eq!(inside.as_deref(), Some("2 frames of libc.so.6, 1 frame of libplugin.so"));
        assert_eq!(lead.as_deref(), Some("/src/fill.c:51 in fill"));
        assert_eq!(callers, ["2 frames of libc.so.6", "/src/main.c:90 in main"]);
    }

    #[test]
    fn program_without_lines_leads_libc_with_lines() {
        let frames = vec![frame("/lib/libc.so.6", "memset", Some(7)), frame("/app/main", "fill", None)];
        let (inside, lead, callers) = shown(frames);
        assert_eq!(inside.as_deref(), Some("1 frame of libc.so.6"));
        assert_eq!(lead.as_deref(), Some("/app/main+0x10 in fill"));
        assert!(callers.is_empty());
    }

    #[test]
    fn standard_library_of_rust_is_a_library() {
        let mut inner = frame("/app/main", "copy_from_slice", Some(3));
        inner.file = Some("/rustc/0123/library/core/src/slice/mod.rs".to_owned());
        let (inside, lead, _) = shown(vec![inner, frame("/app/main", "upload", Some(9))]);
        assert_eq!(inside.as_deref(), Some("1 frame of the Rust standard library"));
        assert_eq!(lead.as_deref(), Some("/src/upload.c:9 in upload"));
    }
}
