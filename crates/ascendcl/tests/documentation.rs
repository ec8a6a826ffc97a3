//! Checks that every public item of the safe layer has an example. `cargo test --doc` runs the examples.

use std::fs;
use std::path::Path;

/// Returns the public items of a file as `file:line: item`, with `true` if the documentation has an example.
fn items(file: &Path) -> Vec<(String, bool)> {
    let text = fs::read_to_string(file).expect("the source file is readable");
    let mut found = Vec::new();
    let mut has_example = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("///") || line.starts_with("#[") {
            has_example |= line.contains("```");
            continue;
        }
        let item = line.strip_prefix("pub ").map(|rest| rest.trim_start_matches("unsafe "));
        let is_item = |rest: &str| {
            ["fn ", "struct ", "enum ", "trait ", "type "].iter().any(|kind| rest.starts_with(kind))
                && !rest.starts_with("fn $name")
        };
        if let Some(item) = item.filter(|item| is_item(item)) {
            found.push((format!("{}:{}: {item}", file.display(), number + 1), has_example));
        }
        has_example = false;
    }
    found
}

#[test]
fn every_public_item_has_an_example() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    for directory in [source.clone(), source.join("raw")] {
        let files = fs::read_dir(&directory).expect("the source directory is readable");
        let files = files.map(|file| file.expect("the source directory is readable").path());
        files.filter(|file| file.extension().is_some_and(|end| end == "rs")).for_each(|file| all.extend(items(&file)));
    }
    assert!(all.len() > 80, "only {} public items were found", all.len());
    let missing: Vec<_> = all.iter().filter(|(_, has_example)| !has_example).map(|(item, _)| item).collect();
    assert!(missing.is_empty(), "items without an example:\n{missing:#?}");
}
