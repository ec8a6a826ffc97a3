//! Lists `unsafe` code: the files that contain it, and the functions that state an obligation of their callers.

use super::cfg::is_test_only;
use super::sources::{Sources, attributes};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::path::PathBuf;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprUnsafe, ImplItem, ImplItemFn, Item, ItemFn, ItemForeignMod, ItemImpl, ItemTrait, Lit, Macro,
    Meta, Safety, Signature, TraitItemFn,
};

/// A file with `unsafe` code.
#[derive(Debug, Default)]
pub struct UnsafeFile {
    /// Source file, relative to the root of the workspace.
    pub file: PathBuf,
    pub blocks: usize,
    pub functions: usize,
    /// `unsafe impl`, `unsafe trait` and `unsafe extern` blocks.
    pub items: usize,
    /// Names of `unsafe` functions with a `# Safety` section.
    pub obligations: Vec<String>,
}

/// Returns the files of a crate that contain `unsafe` code outside of tests. Attributes such as `#[unsafe(no_mangle)]`
/// and types of function pointers do not count.
pub fn unsafe_files(sources: &Sources) -> Vec<UnsafeFile> {
    let mut files = Vec::new();
    for module in &sources.modules {
        let mut visitor = Visitor { found: UnsafeFile { file: module.file.clone(), ..UnsafeFile::default() } };
        for item in &module.syntax.items {
            visitor.visit_item(item);
        }
        let found = visitor.found;
        if found.blocks + found.functions + found.items > 0 {
            files.push(found);
        }
    }
    files.sort_by(|a, b| a.file.cmp(&b.file));
    files
}

struct Visitor {
    found: UnsafeFile,
}

impl Visitor {
    fn add_function(&mut self, signature: &Signature, attributes: &[Attribute]) {
        if matches!(signature.safety, Safety::Unsafe(_)) {
            self.found.functions += 1;
            if has_safety_section(attributes) {
                self.found.obligations.push(signature.ident.to_string());
            }
        }
    }

    /// Counts `unsafe` in the tokens of a macro, which are not parsed.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |index: usize, word: &str| matches!(trees.get(index), Some(TokenTree::Ident(ident)) if ident == word);
        for (index, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Ident(ident) if ident == "unsafe" => {
                    let mut next = index + 1;
                    if is(next, "extern") {
                        next += 1;
                        next += usize::from(matches!(trees.get(next), Some(TokenTree::Literal(_))));
                    }
                    let is_braced = is_brace(trees.get(next));
                    if is_braced && next == index + 1 {
                        self.found.blocks += 1;
                    } else if is_braced || is(next, "impl") || is(next, "trait") {
                        self.found.items += 1;
                    } else if is(next, "fn") && !matches!(trees.get(next + 1), Some(TokenTree::Group(_)) | None) {
                        self.found.functions += 1;
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let is_test = matches!(item, ImplItem::Fn(function) if is_test_only(&function.attrs));
        if !is_test {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        self.found.blocks += 1;
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add_function(&function.sig, &function.attrs);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add_function(&function.sig, &function.attrs);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.add_function(&function.sig, &function.attrs);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.found.items += usize::from(item.unsafety.is_some());
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.found.items += usize::from(item.unsafety.is_some());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        self.found.items += usize::from(item.unsafety.is_some());
        visit::visit_item_foreign_mod(self, item);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.add_tokens(invocation.tokens.clone());
    }
}

fn is_brace(tree: Option<&TokenTree>) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

fn has_safety_section(attributes: &[Attribute]) -> bool {
    attributes.iter().filter_map(doc_line).any(|line| line.trim() == "# Safety")
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("doc") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
