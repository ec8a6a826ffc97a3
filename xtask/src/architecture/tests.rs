//! Tests of the module graph on small source trees in temporary directories.

use super::graph::ModuleGraph;
use super::metadata::{Dependency, Package};
use super::{document, metadata, names, ranks, report, sources, unsafety};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A source tree that is deleted on drop.
struct Tree(PathBuf);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("xtask-architecture-{}-{number}", std::process::id()));
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("the directory is writable");
            fs::write(path, text).expect("the file is writable");
        }
        Tree(root)
    }

    fn sources(&self) -> sources::Sources {
        sources::load(&self.0, &self.0.join("lib.rs"), "lib").expect("the sources parse")
    }

    fn graph(&self) -> ModuleGraph {
        names::module_graph(&self.sources())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // A leftover directory in the temporary directory is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
    Package {
        name: name.to_owned(),
        manifest: Path::new("crates").join(name).join("Cargo.toml"),
        dependencies: dependencies
            .iter()
            .map(|(name, is_dev)| Dependency { name: (*name).to_owned(), is_dev: *is_dev })
            .collect(),
        targets: Vec::new(),
    }
}

/// Edges as `from -> to`, sorted.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let graph = Tree::new(files).graph();
    let name = |module: usize| graph.modules[module].name.clone();
    graph.edges.keys().map(|(from, to)| format!("{} -> {}", name(*from), name(*to))).collect()
}

#[test]
fn cycle_is_reported_with_names_and_lines() {
    let tree = Tree::new(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "use crate::b::B;\npub struct A(B);"),
        ("b.rs", "\n\npub struct B;\nfn f() { crate::c::g() }"),
        ("c.rs", "use super::a::A;\npub fn g() { let _: Option<A> = None; }"),
    ]);
    let graph = tree.graph();
    assert_eq!(
        report::cycles(&package("x", &[]), &graph),
        "x: 3 modules depend on each other\n  a -> b -> c -> a\n    a.rs:1: crate::b::B\n    b.rs:4: crate::c::g\n    \
         c.rs:1: super::a::A\n"
    );
}

#[test]
fn facade_reexport_is_followed_and_is_no_cycle() {
    let found = edges(&[
        ("lib.rs", "mod memory;\nmod user;\npub use memory::Heap;"),
        (
            "memory/mod.rs",
            "mod heap;\nmod pool;\npub use heap::Heap;\npub(crate) use self::pool::{Pool as MemoryPool};",
        ),
        ("memory/heap.rs", "pub struct Heap;"),
        ("memory/pool.rs", "use super::Heap;\npub struct Pool(Heap);"),
        ("user.rs", "use crate::{Heap, memory::MemoryPool};"),
    ]);
    assert_eq!(found, ["memory::pool -> memory::heap", "user -> memory::heap", "user -> memory::pool"]);
}

#[test]
fn use_of_a_child_by_its_parent_is_an_edge() {
    let found = edges(&[
        ("lib.rs", "mod parent;"),
        ("parent.rs", "mod child;\nuse child::Child;\npub struct Parent(Child);\nconst LIMIT: usize = 1;"),
        ("parent/child.rs", "pub struct Child([u8; super::LIMIT]);"),
    ]);
    assert_eq!(found, ["parent -> parent::child", "parent::child -> parent"]);
}

#[test]
fn imports_of_tests_are_ignored() {
    let found = edges(&[
        ("lib.rs", "mod a;\nmod b;\n#[cfg(loom)]\nmod missing;\n#[cfg(all(test, feature = \"x\"))]\nmod absent;"),
        ("a.rs", "pub fn f() {}\n#[cfg(test)]\nmod tests { use crate::b::B; }\n#[cfg(not(loom))]\nuse crate::b::g;"),
        (
            "b.rs",
            "pub struct B;\npub fn g() {}\nimpl B { #[cfg(test)] fn t() { crate::a::f() } }\n\
             #[cfg(test)]\nuse crate::a::f;",
        ),
    ]);
    assert_eq!(found, ["a -> b"]);
}

#[test]
fn glob_imports_are_resolved() {
    let found = edges(&[
        ("lib.rs", "mod all;\nmod kind;\nmod unused;\nmod user;"),
        ("all.rs", "pub use crate::kind::*;\npub struct Other;"),
        ("kind.rs", "pub enum Kind { One, Two }\npub fn unused() {}"),
        ("unused.rs", "pub struct Unused;"),
        (
            "user.rs",
            "use crate::all::*;\nuse crate::unused::*;\nfn f(_: Kind) { use crate::kind::Kind::*; let _ = One; }",
        ),
    ]);
    assert_eq!(found, ["user -> kind"]);
}

#[test]
fn super_and_self_paths_are_resolved() {
    let found = edges(&[
        ("lib.rs", "mod a;\nmod b;\nfn root() {}"),
        ("a/mod.rs", "pub mod x;\npub mod y;"),
        ("a/x.rs", "pub fn f() { super::y::g(); super::super::b::h(); super::super::root() }"),
        ("a/y.rs", "pub fn g() {}\nmod inner { fn k() { super::g(); self::l() } fn l() {} }"),
        ("b.rs", "pub fn h() {}"),
    ]);
    assert_eq!(found, ["a::x -> lib", "a::x -> a::y", "a::x -> b"]);
}

#[test]
fn imports_of_modules_count_only_where_they_are_used() {
    let found = edges(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "use crate::{b, c};\nfn f() { b::g() }"),
        ("b.rs", "pub fn g() {}"),
        ("c.rs", "pub fn h() {}"),
    ]);
    assert_eq!(found, ["a -> b"]);
}

#[test]
fn macros_are_resolved_by_path_and_by_position() {
    let found = edges(&[
        ("lib.rs", "#[macro_use]\nmod textual;\nmod entry;\nmod user;\nmod target;"),
        ("textual.rs", "macro_rules! shout { () => {} }"),
        ("entry.rs", "macro_rules! export { () => { $crate::target::run() } }\npub(crate) use export;"),
        ("user.rs", "crate::entry::export! {}\nshout!();\nfn f() { println!(\"{}\", crate::target::VALUE) }"),
        ("target.rs", "pub fn run() {}\npub const VALUE: u8 = 0;"),
    ]);
    assert_eq!(found, ["entry -> target", "user -> textual", "user -> entry", "user -> target"]);
}

#[test]
fn items_of_other_crates_are_no_edges_unless_a_module_reexports_them() {
    let found = edges(&[
        ("lib.rs", "mod a;\nmod b;\nmod facade;"),
        ("a.rs", "use std::fmt::{self, Debug as _};\npub use other_crate::*;\nfn f() { ::b::g() }"),
        ("b.rs", "use crate::facade::Mutex;\nfn g(_: Mutex<u8>) {}"),
        ("facade.rs", "pub use std::sync::Mutex;"),
    ]);
    assert_eq!(found, ["b -> facade"]);
}

#[test]
fn modules_with_a_path_attribute_are_loaded() {
    let found = edges(&[
        ("lib.rs", "#[path = \"deep/file.rs\"]\nmod renamed;\nmod user;"),
        ("deep/file.rs", "pub struct Item;"),
        ("user.rs", "use crate::renamed::Item;"),
    ]);
    assert_eq!(found, ["user -> renamed"]);
    let found = edges(&[
        ("lib.rs", "mod bytes;"),
        (
            "bytes/mod.rs",
            "#[cfg_attr(not(unix), path = \"portable.rs\")]\n#[cfg_attr(unix, path = \"unix.rs\")]\nmod routines;\n\
             pub fn f() { routines::g() }",
        ),
        ("bytes/portable.rs", "pub fn g() {}"),
        ("bytes/unix.rs", "pub fn g() {}"),
    ]);
    assert_eq!(found, ["bytes -> bytes::portable", "bytes -> bytes::unix"]);
}

#[test]
fn layers_are_longest_paths() {
    let tree = Tree::new(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "use crate::{b::B, c::C};"),
        ("b.rs", "pub struct B(crate::c::C);"),
        ("c.rs", "pub struct C;"),
    ]);
    let graph = tree.graph();
    assert_eq!(graph.named_layers(), [vec!["c", "lib"], vec!["b"], vec!["a"]]);
    assert_eq!(report::layers(&graph), "  2 a\n  1 b\n  0 c  lib\n");
    assert!(graph.knots().is_empty());
}

#[test]
fn dependency_on_an_equal_or_higher_rank_is_a_violation() {
    let good = package("softacl-engine", &[("softacl-memory", false), ("softacl-testkit", true)]);
    let tool = package("xtask", &[("softacl", false)]);
    assert!(ranks::violations(&[&good, &tool]).is_empty());
    for (name, dependency) in [
        ("softacl-memory", "softacl-engine"),
        ("softacl-checker", "softacl-tracer"),
        ("softacl-engine", "softacl-testkit"),
        ("softacl-engine", "unknown"),
    ] {
        let violations = ranks::violations(&[&package(name, &[(dependency, false)])]);
        assert_eq!(violations.len(), 1, "{name} on {dependency}: {violations:?}");
        assert!(violations[0].contains(dependency), "{violations:?}");
    }
    assert_eq!(ranks::violations(&[&package("unknown", &[])]).len(), 1);
}

#[test]
fn metadata_lists_dependencies_in_the_workspace_and_product_targets() {
    let json = br#"{ "packages": [{ "name": "a", "manifest_path": "/w/crates/a/Cargo.toml",
        "dependencies": [
            { "name": "b", "kind": null, "path": "/w/crates/b" }, { "name": "c", "kind": "dev", "path": "/w/crates/c" },
            { "name": "a", "kind": "dev", "path": "/w/crates/a" }, { "name": "libc", "kind": null }],
        "targets": [
            { "name": "a", "kind": ["cdylib", "rlib"], "src_path": "/w/crates/a/src/lib.rs" },
            { "name": "t", "kind": ["test"], "src_path": "/w/crates/a/tests/t.rs" },
            { "name": "tool", "kind": ["bin"], "src_path": "/w/crates/a/src/main.rs" }] }] }"#;
    let packages = metadata::parse(json, Path::new("/w")).expect("the JSON is valid");
    assert_eq!(packages[0].short_name(), "a");
    let dependency = |name: &str, is_dev| Dependency { name: name.to_owned(), is_dev };
    assert_eq!(packages[0].dependencies, [dependency("b", false), dependency("c", true)]);
    let targets: Vec<&str> = packages[0].targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(targets, ["lib", "tool"]);
}

#[test]
fn unsafe_code_outside_of_tests_is_listed() {
    let tree = Tree::new(&[
        ("lib.rs", "mod safe;\nmod raw;\nmod expanded;"),
        (
            "safe.rs",
            "type F = unsafe fn(u8);\n#[unsafe(no_mangle)] pub fn f() {}\n\
             #[cfg(test)] mod tests { fn t() { unsafe {} } }",
        ),
        (
            "raw.rs",
            "/// Reads.\n///\n/// # Safety\n///\n/// `p` is valid.\n\
             pub unsafe fn read(p: *const u8) -> u8 { unsafe { *p } }\n\
             unsafe fn undocumented() {}\nstruct S;\nunsafe impl Send for S {}",
        ),
        ("expanded.rs", "m! { pub unsafe extern \"C\" fn g(f: unsafe fn(u8)) { unsafe { f(0) } } }"),
    ]);
    let files = unsafety::unsafe_files(&tree.sources());
    let counts: Vec<_> = files.iter().map(|f| (f.file.display().to_string(), f.blocks, f.functions, f.items)).collect();
    assert_eq!(counts, [("expanded.rs".to_owned(), 1, 1, 0), ("raw.rs".to_owned(), 1, 2, 1)]);
    assert_eq!(files[1].obligations, ["read"]);
}

#[test]
fn generated_parts_are_replaced_and_unknown_ones_refused() {
    let text = "# A\n<!-- architecture:unsafe -->\nold\n<!-- /architecture:unsafe -->\nend\n";
    let (updated, parts) = document::regenerate(text, &[]).expect("the markers are valid");
    assert_eq!(parts, 1);
    assert!(updated.starts_with("# A\n<!-- architecture:unsafe -->\nFiles with"), "{updated}");
    assert!(updated.ends_with("<!-- /architecture:unsafe -->\nend\n") && !updated.contains("old"), "{updated}");
    assert_eq!(document::regenerate(&updated, &[]).expect("the markers are valid").0, updated);
    assert!(document::regenerate("<!-- architecture:unsafe -->\n", &[]).is_err());
    assert!(document::regenerate("<!-- architecture:x -->\n<!-- /architecture:x -->\n", &[]).is_err());
}
