//! Loads the source files of a crate and records the names that each module defines or imports. Does not resolve names.

use super::cfg::{conditional, is_test_only};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, Item, ItemMacro, ItemMod, Lit, Meta, UseTree, Visibility};

/// Index of a [`Module`].
pub type ModuleId = usize;
/// Index of a [`Scope`].
pub type ScopeId = usize;

/// Source files of one library or binary.
#[derive(Debug, Default)]
pub struct Sources {
    pub modules: Vec<Module>,
    pub scopes: Vec<Scope>,
    /// Modules that define a `macro_rules!` macro of a name, outside of functions.
    pub macros: HashMap<String, Vec<ModuleId>>,
}

/// A source file.
pub struct Module {
    /// Path in the crate, for example `memory::heap`. The root is named after its target.
    pub name: String,
    /// Source file, relative to the root of the workspace.
    pub file: PathBuf,
    pub scope: ScopeId,
    pub syntax: Rc<syn::File>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("name", &self.name).field("file", &self.file).finish_non_exhaustive()
    }
}

/// Names of a module, of an inline module, or of an enum (its variants).
#[derive(Debug, Default)]
pub struct Scope {
    /// Enclosing module. `None` for the root.
    pub parent: Option<ScopeId>,
    /// File of the scope.
    pub module: ModuleId,
    pub names: HashMap<String, Vec<Binding>>,
    pub globs: Vec<Vec<String>>,
    /// Scopes of inline modules, by name.
    pub inline: HashMap<String, ScopeId>,
}

/// Meaning of a name in a scope.
#[derive(Debug, Clone)]
pub enum Binding {
    /// An item that a module defines.
    Item(ModuleId),
    /// An enum, with the scope of its variants.
    Enum(ScopeId),
    /// A module.
    Module(ScopeId),
    /// An import of a path.
    Import(Vec<String>),
}

/// One leaf of a `use` tree.
#[derive(Debug)]
pub struct Leaf {
    pub path: Vec<String>,
    /// Name in the importing scope. `None` for a glob.
    pub name: Option<String>,
    pub line: usize,
}

/// Loads the crate whose root file is `file`. `target` names the root module.
pub fn load(root: &Path, file: &Path, target: &str) -> Result<Sources> {
    let mut loader = Loader { root, sources: Sources::default() };
    let directory = file.parent().context("a source file has no directory")?;
    loader.load_file(file, directory, target.to_owned(), "", None)?;
    Ok(loader.sources)
}

struct Loader<'r> {
    root: &'r Path,
    sources: Sources,
}

impl Loader<'_> {
    /// Loads a file and its child modules, which are in `directory`. `prefix` starts the names of the children.
    fn load_file(
        &mut self,
        file: &Path,
        directory: &Path,
        name: String,
        prefix: &str,
        parent: Option<ScopeId>,
    ) -> Result<ScopeId> {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let syntax = syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
        let syntax = Rc::new(syntax);
        let module = self.sources.modules.len();
        let scope = self.add_scope(parent, module);
        let relative = file.strip_prefix(self.root).unwrap_or(file).to_owned();
        self.sources.modules.push(Module { name, file: relative, scope, syntax: Rc::clone(&syntax) });
        self.add_items(&syntax.items, scope, file, directory, prefix)?;
        Ok(scope)
    }

    fn add_scope(&mut self, parent: Option<ScopeId>, module: ModuleId) -> ScopeId {
        self.sources.scopes.push(Scope { parent, module, ..Scope::default() });
        self.sources.scopes.len() - 1
    }

    fn bind(&mut self, scope: ScopeId, name: String, binding: Binding) {
        self.sources.scopes[scope].names.entry(name).or_default().push(binding);
    }

    fn add_items(&mut self, items: &[Item], scope: ScopeId, file: &Path, directory: &Path, prefix: &str) -> Result<()> {
        let module = self.sources.scopes[scope].module;
        for item in items.iter().filter(|item| !is_test_only(attributes(item))) {
            match item {
                Item::Mod(child) => self.add_module(child, scope, file, directory, prefix)?,
                Item::Use(import) => {
                    for leaf in leaves(&import.tree) {
                        match leaf.name {
                            Some(name) => self.bind(scope, name, Binding::Import(leaf.path)),
                            None => self.sources.scopes[scope].globs.push(leaf.path),
                        }
                    }
                }
                Item::Enum(item) => {
                    let variants = self.add_scope(Some(scope), module);
                    for variant in &item.variants {
                        self.bind(variants, variant.ident.unraw().to_string(), Binding::Item(module));
                    }
                    self.bind(scope, item.ident.unraw().to_string(), Binding::Enum(variants));
                }
                Item::Macro(item) => self.add_macro(item, scope, module),
                Item::ForeignMod(block) => {
                    for name in block.items.iter().filter_map(foreign_name) {
                        self.bind(scope, name, Binding::Item(module));
                    }
                }
                other => {
                    if let Some(name) = item_name(other) {
                        self.bind(scope, name, Binding::Item(module));
                    }
                }
            }
        }
        Ok(())
    }

    fn add_macro(&mut self, item: &ItemMacro, scope: ScopeId, module: ModuleId) {
        let Some(name) = item.ident.as_ref().map(|ident| ident.unraw().to_string()) else { return };
        self.sources.macros.entry(name.clone()).or_default().push(module);
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
            self.bind(0, name.clone(), Binding::Item(module));
        }
        self.bind(scope, name, Binding::Item(module));
    }

    /// Adds `mod name;` with its file, or an inline module.
    fn add_module(
        &mut self,
        child: &ItemMod,
        scope: ScopeId,
        file: &Path,
        directory: &Path,
        prefix: &str,
    ) -> Result<()> {
        let name = child.ident.unraw().to_string();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}::{name}") };
        let inner = directory.join(&name);
        if let Some((_, items)) = &child.content {
            let module = self.sources.scopes[scope].module;
            let inline = self.add_scope(Some(scope), module);
            self.sources.scopes[scope].inline.insert(name.clone(), inline);
            self.add_items(items, inline, file, &inner, &path)?;
            self.bind(scope, name, Binding::Module(inline));
            return Ok(());
        }
        let files = module_files(child, file, directory, &name)?;
        for file in &files {
            // Alternatives, one of which a target selects, are named after their files.
            let module_name = match (files.len(), file.file_stem()) {
                (2.., Some(stem)) => path.replace(&name, &stem.to_string_lossy()),
                _ => path.clone(),
            };
            let child_scope = self.load_file(file, &inner, module_name, &path, Some(scope))?;
            self.bind(scope, name.clone(), Binding::Module(child_scope));
        }
        Ok(())
    }
}

/// Returns the files of `mod name;`: those that `path` attributes name, or `name.rs`, or `name/mod.rs`.
fn module_files(child: &ItemMod, file: &Path, directory: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let conditional: Vec<Meta> = child.attrs.iter().flat_map(conditional).collect();
    let metas = child.attrs.iter().map(|attribute| &attribute.meta).chain(&conditional);
    let paths: Vec<String> = metas.filter_map(path_value).collect();
    if !paths.is_empty() {
        let parent = file.parent().context("a source file has no directory")?;
        return Ok(paths.into_iter().map(|path| parent.join(path)).collect());
    }
    let candidates = [directory.join(format!("{name}.rs")), directory.join(name).join("mod.rs")];
    let found = candidates.into_iter().find(|candidate| candidate.is_file());
    Ok(vec![found.with_context(|| format!("{}: the file of module {name} was not found", file.display()))?])
}

/// Returns the value of `path = "..."`.
fn path_value(meta: &Meta) -> Option<String> {
    let Meta::NameValue(pair) = meta else { return None };
    match (&pair.value, pair.path.is_ident("path")) {
        (Expr::Lit(literal), true) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Flattens a `use` tree.
pub fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    flatten(tree, &mut Vec::new(), 0, &mut leaves);
    leaves
}

fn flatten(tree: &UseTree, prefix: &mut Vec<String>, line: usize, leaves: &mut Vec<Leaf>) {
    let mut push = |segment: Option<String>, name: Option<String>, line: usize| {
        let path: Vec<String> = prefix.iter().cloned().chain(segment).collect();
        leaves.push(Leaf { path, name, line });
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.unraw().to_string());
            flatten(&path.tree, prefix, path.ident.span().start().line, leaves);
            prefix.pop();
        }
        UseTree::Name(leaf) => {
            let (segment, line) = (leaf.ident.unraw().to_string(), leaf.ident.span().start().line);
            match prefix.last().cloned() {
                // `use a::{self}` imports `a`.
                Some(last) if segment == "self" => push(None, Some(last), line),
                _ => push(Some(segment.clone()), Some(segment), line),
            }
        }
        UseTree::Rename(leaf) => {
            let segment = leaf.ident.unraw().to_string();
            let segment = (segment != "self" || prefix.is_empty()).then_some(segment);
            let line = leaf.ident.span().start().line;
            leaves.push(Leaf {
                path: prefix.iter().cloned().chain(segment).collect(),
                name: Some(leaf.rename.unraw().to_string()),
                line,
            });
        }
        UseTree::Glob(_) => push(None, None, line),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, line, leaves);
            }
        }
    }
}

/// Returns `true` for `pub`, `pub(crate)`, `pub(super)` and `pub(in ...)`.
pub fn is_visible(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

fn foreign_name(item: &syn::ForeignItem) -> Option<String> {
    match item {
        syn::ForeignItem::Fn(item) => Some(item.sig.ident.unraw().to_string()),
        syn::ForeignItem::Static(item) => Some(item.ident.unraw().to_string()),
        syn::ForeignItem::Type(item) => Some(item.ident.unraw().to_string()),
        _ => None,
    }
}

fn item_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.unraw().to_string())
}

/// Returns the attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
