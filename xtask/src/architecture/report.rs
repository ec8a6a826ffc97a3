//! Output of `cargo xtask architecture`: text for people and JSON for programs.

use super::crates::Crate;
use super::graph::ModuleGraph;
use super::metadata::Package;
use super::ranks;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Width of the text output.
const WIDTH: usize = 110;
/// Maximum number of cycles that are printed of a set of modules that depend on each other.
const MAX_CYCLES: usize = 20;

/// Returns the listing for people: the layers of every crate, with the topmost layer first.
pub fn text(crates: &[Crate]) -> String {
    let mut text = String::from("Every module depends only on modules in lower rows.\n");
    for Crate { package, graphs, unsafe_files } in crates {
        for graph in graphs {
            let (modules, edges) = (graph.modules.len(), graph.edges.len());
            let name = &package.name;
            let target = if graph.target == "lib" { String::new() } else { format!(" ({})", graph.target) };
            push(
                &mut text,
                format_args!("\n{name}{target}: {modules} modules, {edges} dependencies\n{}", layers(graph)),
            );
        }
        let unsafe_counts: Vec<String> = unsafe_files
            .iter()
            .map(|file| {
                let name = file.file.strip_prefix(package.directory().join("src")).unwrap_or(&file.file);
                format!("{} ({})", name.display(), file.blocks + file.functions + file.items)
            })
            .collect();
        if !unsafe_counts.is_empty() {
            push(&mut text, format_args!("unsafe\n{}", wrap(&unsafe_counts, "    ", ", ")));
        }
    }
    text
}

/// Returns a drawing of the layers of a graph, one row per layer, with the topmost layer first.
pub fn layers(graph: &ModuleGraph) -> String {
    let layers = graph.named_layers();
    let mut text = String::new();
    for (number, names) in layers.iter().enumerate().rev() {
        let rows = wrap(names, "    ", "  ");
        push(&mut text, format_args!("{number:>3} {}", &rows[4..]));
    }
    text
}

/// Joins words into lines of at most [`WIDTH`] characters that start with `indent`. Ends with a newline.
pub fn wrap<S: AsRef<str>>(words: &[S], indent: &str, separator: &str) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for word in words.iter().map(AsRef::as_ref) {
        if !line.is_empty() && indent.len() + line.len() + separator.len() + word.len() > WIDTH {
            push(&mut text, format_args!("{indent}{}{}\n", line, separator.trim_end()));
            line.clear();
        }
        if !line.is_empty() {
            line.push_str(separator);
        }
        line.push_str(word);
    }
    push(&mut text, format_args!("{indent}{line}\n"));
    text
}

/// Returns a description of the cycles of a graph, with the line that causes each dependency. Empty if there is none.
pub fn cycles(package: &Package, graph: &ModuleGraph) -> String {
    let mut text = String::new();
    for knot in graph.knots() {
        let name = |module: usize| graph.modules[module].name.as_str();
        push(&mut text, format_args!("{}: {} modules depend on each other\n", package.name, knot.len()));
        let cycles = graph.cycles(&knot);
        for cycle in cycles.iter().take(MAX_CYCLES) {
            let names: Vec<&str> = cycle.iter().map(|module| name(*module)).collect();
            push(&mut text, format_args!("  {}\n", names.join(" -> ")));
            for pair in cycle.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let site = &graph.edges[&(from, to)];
                let file = graph.modules[from].file.display();
                push(&mut text, format_args!("    {file}:{}: {}\n", site.line, site.path));
            }
        }
        if cycles.len() > MAX_CYCLES {
            push(&mut text, format_args!("  and {} longer cycles\n", cycles.len() - MAX_CYCLES));
        }
    }
    text
}

/// Returns crates, modules, dependencies, cycles and `unsafe` code as JSON.
pub fn json(crates: &[Crate]) -> serde_json::Result<String> {
    let crates: Vec<Value> = crates.iter().map(json_crate).collect();
    serde_json::to_string_pretty(&json!({ "crates": crates })).map(|text| text + "\n")
}

fn json_crate(Crate { package, graphs, unsafe_files }: &Crate) -> Value {
    let rank = match ranks::rank(&package.name) {
        Some(ranks::Rank::Product(rank)) => json!(rank),
        Some(ranks::Rank::Development) => json!("development"),
        None => Value::Null,
    };
    let dependencies: Vec<Value> = package
        .dependencies
        .iter()
        .map(|dependency| json!({ "name": dependency.name, "dev": dependency.is_dev }))
        .collect();
    let unsafe_files: Vec<Value> = unsafe_files
        .iter()
        .map(|file| {
            json!({
                "file": file.file, "blocks": file.blocks, "functions": file.functions, "items": file.items,
                "obligations": file.obligations,
            })
        })
        .collect();
    json!({
        "name": package.name,
        "directory": package.directory(),
        "rank": rank,
        "dependencies": dependencies,
        "targets": graphs.iter().map(json_graph).collect::<Vec<_>>(),
        "unsafe": unsafe_files,
    })
}

fn json_graph(graph: &ModuleGraph) -> Value {
    let layers = graph.layers();
    let modules: Vec<Value> = graph
        .modules
        .iter()
        .zip(layers)
        .map(|(module, layer)| json!({ "name": module.name, "file": module.file, "layer": layer }))
        .collect();
    let edges: Vec<Value> = graph
        .edges
        .iter()
        .map(|((from, to), site)| {
            let from = &graph.modules[*from];
            let to = &graph.modules[*to].name;
            json!({ "from": from.name, "to": to, "file": from.file, "line": site.line, "path": site.path })
        })
        .collect();
    let name = |module: &usize| graph.modules[*module].name.as_str();
    let cycles: Vec<Vec<&str>> = graph
        .knots()
        .iter()
        .flat_map(|knot| graph.cycles(knot))
        .map(|cycle| cycle.iter().map(name).collect())
        .collect();
    json!({ "target": graph.target, "modules": modules, "edges": edges, "cycles": cycles })
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string does not fail");
}
