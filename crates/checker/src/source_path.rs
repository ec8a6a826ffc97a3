//! Paths of source files, as compilers write them.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..`, which compilers leave in the names of headers.
pub(crate) fn tidy(path: &str) -> PathBuf {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidy_removes_dot_components() {
        for (path, expected) in [
            ("/src/case/../zoo.h", "/src/zoo.h"),
            ("./app.c", "app.c"),
            ("../app.c", "../app.c"),
            ("a/../../b.c", "../b.c"),
        ] {
            assert_eq!(tidy(path), Path::new(expected), "{path}");
        }
    }
}
