//! Resolves the names that a module uses to the modules that define them.
//!
//! Supported: `crate`, `self` and `super`; imports with renames and globs, also inside functions; re-exports; enum
//! variants; macros by path and by `#[macro_use]`; and, as far as possible, paths in the tokens of macros. Names of
//! fields and methods need types and are not resolved: a method call is no dependency unless the type or the trait is
//! named.

use super::cfg::is_test_only;
use super::graph::{ModuleGraph, Node, Site};
use super::sources::{Binding, ModuleId, ScopeId, Sources, attributes, is_visible, leaves};
use super::tokens;
use proc_macro2::TokenStream;
use std::collections::HashMap;
use syn::ext::IdentExt as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItem, Item, ItemMod, ItemUse, Macro, Path, Stmt, TraitItem, Visibility};

/// Computes the dependencies between the modules of a crate.
pub fn module_graph(sources: &Sources) -> ModuleGraph {
    let nodes = sources.modules.iter().map(|module| Node { name: module.name.clone(), file: module.file.clone() });
    let target = sources.modules.first().map(|root| root.name.clone()).unwrap_or_default();
    let mut graph = ModuleGraph { target, modules: nodes.collect(), ..ModuleGraph::default() };
    for (module, source) in sources.modules.iter().enumerate() {
        let mut visitor = Visitor { sources, graph: &mut graph, module, scope: source.scope, locals: Vec::new() };
        for item in &source.syntax.items {
            visitor.visit_item(item);
        }
    }
    graph
}

/// Meaning of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// An item, by the module that defines it.
    Item(ModuleId),
    /// An enum, with the scope of its variants.
    Enum(ScopeId),
    Module(ScopeId),
}

/// Resolves paths in a set of sources. Remembers the names under resolution, because imports may be circular.
struct Resolver<'s> {
    sources: &'s Sources,
    active: Vec<(ScopeId, String)>,
}

impl Resolver<'_> {
    /// Returns what a path means in a scope. Empty for items of other crates.
    fn resolve(&mut self, scope: ScopeId, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(scope)],
            "super" => self.parent(scope),
            _ => self.lookup(scope, first),
        };
        for segment in rest {
            let modules: Vec<ScopeId> = targets
                .iter()
                .filter_map(|target| match target {
                    Target::Module(scope) => Some(*scope),
                    _ => None,
                })
                .collect();
            if modules.is_empty() {
                // An associated item or a variant.
                return targets;
            }
            targets = modules.into_iter().flat_map(|module| self.member(module, segment)).collect();
        }
        targets
    }

    fn parent(&self, scope: ScopeId) -> Vec<Target> {
        self.sources.scopes[scope].parent.map(Target::Module).into_iter().collect()
    }

    /// Looks up a name in a module that a path names. An unknown name counts as an item of the module: a macro may
    /// define it, or the module re-exports it from another crate.
    fn member(&mut self, scope: ScopeId, name: &str) -> Vec<Target> {
        if name == "super" {
            return self.parent(scope);
        }
        let found = self.lookup(scope, name);
        if found.is_empty() { vec![Target::Item(self.sources.scopes[scope].module)] } else { found }
    }

    /// Returns what a name means in a scope: its own names first, then glob imports.
    fn lookup(&mut self, scope: ScopeId, name: &str) -> Vec<Target> {
        let sources = self.sources;
        let key = (scope, name.to_owned());
        // `use copy::copy;` names a module and imports an item of equal name: imports are not followed twice.
        let is_active = self.active.contains(&key);
        self.active.push(key);
        let mut targets = Vec::new();
        for binding in sources.scopes[scope].names.get(name).into_iter().flatten() {
            match binding {
                Binding::Item(module) => targets.push(Target::Item(*module)),
                Binding::Enum(variants) => targets.push(Target::Enum(*variants)),
                Binding::Module(child) => targets.push(Target::Module(*child)),
                Binding::Import(path) if !is_active => targets.extend(self.resolve(scope, path)),
                Binding::Import(_) => {}
            }
        }
        if targets.is_empty() && !is_active {
            for glob in &sources.scopes[scope].globs {
                for target in self.resolve(scope, glob) {
                    if let Target::Module(imported) | Target::Enum(imported) = target {
                        targets.extend(self.lookup(imported, name));
                    }
                }
            }
        }
        self.active.pop();
        targets
    }
}

/// Imports of a block inside a function.
#[derive(Default)]
struct Locals {
    names: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// Visits a source file and adds its dependencies to the graph.
struct Visitor<'s, 'g> {
    sources: &'s Sources,
    graph: &'g mut ModuleGraph,
    module: ModuleId,
    scope: ScopeId,
    locals: Vec<Locals>,
}

impl Visitor<'_, '_> {
    /// Resolves a path with the imports of the enclosing blocks.
    fn targets(&self, path: &[String]) -> Vec<Target> {
        let mut resolver = Resolver { sources: self.sources, active: Vec::new() };
        for locals in self.locals.iter().rev() {
            if let Some(import) = path.first().and_then(|first| locals.names.get(first)) {
                let whole: Vec<String> = import.iter().chain(&path[1..]).cloned().collect();
                return resolver.resolve(self.scope, &whole);
            }
        }
        let found = resolver.resolve(self.scope, path);
        if !found.is_empty() {
            return found;
        }
        let globs = self.locals.iter().rev().flat_map(|locals| &locals.globs);
        globs
            .flat_map(|glob| {
                let whole: Vec<String> = glob.iter().chain(path).cloned().collect();
                let modules = resolver.resolve(self.scope, glob);
                modules
                    .into_iter()
                    .flat_map(|target| match target {
                        Target::Module(imported) if resolver.lookup(imported, &path[0]).is_empty() => Vec::new(),
                        _ => resolver.resolve(self.scope, &whole),
                    })
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Adds edges to the modules that define `path`.
    fn add(&mut self, path: &[String], line: usize, is_reexport: bool) {
        for target in self.targets(path) {
            let definer = match target {
                Target::Item(module) => module,
                Target::Enum(variants) => self.sources.scopes[variants].module,
                Target::Module(_) => continue,
            };
            // A module that re-exports items of its children is their facade and does not depend on them.
            if !(is_reexport && self.is_descendant(definer)) {
                self.graph.add(self.module, definer, Site { line, path: path.join("::") });
            }
        }
    }

    fn is_descendant(&self, module: ModuleId) -> bool {
        let own = self.sources.modules[self.module].scope;
        let mut scope = Some(self.sources.modules[module].scope);
        while let Some(current) = scope {
            if current == own {
                return true;
            }
            scope = self.sources.scopes[current].parent;
        }
        false
    }

    fn add_tokens(&mut self, tokens: &TokenStream) {
        for path in tokens::paths(tokens.clone()) {
            self.add(&path.segments, path.line, false);
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_, '_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        if !is_test_only(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes: &[Attribute] = match item {
            TraitItem::Fn(item) => &item.attrs,
            _ => &[],
        };
        if !is_test_only(attributes) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // Only inline modules: `mod name;` is a separate file.
        if let Some((_, items)) = &item.content
            && let Some(inner) = self.sources.scopes[self.scope].inline.get(&item.ident.unraw().to_string())
        {
            let outer = std::mem::replace(&mut self.scope, *inner);
            for item in items {
                self.visit_item(item);
            }
            self.scope = outer;
        }
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        for leaf in leaves(&import.tree) {
            // A glob of an enum names the enum. A glob of a module names what is used of it.
            self.add(&leaf.path, leaf.line, is_visible(&import.vis));
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let mut locals = Locals::default();
        for statement in &block.stmts {
            if let Stmt::Item(Item::Use(import)) = statement {
                for leaf in leaves(&import.tree) {
                    match leaf.name {
                        // `use x::y;` inside the block that it is written in would resolve to itself.
                        Some(name) if leaf.path.len() > 1 => drop(locals.names.insert(name, leaf.path)),
                        Some(_) => {}
                        None => locals.globs.push(leaf.path),
                    }
                }
            }
        }
        // The imports themselves are visited in the outer scope.
        for statement in &block.stmts {
            if let Stmt::Item(Item::Use(import)) = statement {
                self.visit_item_use(import);
            }
        }
        self.locals.push(locals);
        for statement in block.stmts.iter().filter(|statement| !matches!(statement, Stmt::Item(Item::Use(_)))) {
            self.visit_stmt(statement);
        }
        self.locals.pop();
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
            let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
            self.add(&segments, line, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.visit_path(&invocation.path);
        if let Some(ident) = invocation.path.get_ident()
            && let Some([module]) = self.sources.macros.get(&ident.unraw().to_string()).map(Vec::as_slice)
        {
            // Without a path, the macro is in scope by its position in the sources.
            let site = Site { line: ident.span().start().line, path: format!("{ident}!") };
            self.graph.add(self.module, *module, site);
        }
        self.add_tokens(&invocation.tokens);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
