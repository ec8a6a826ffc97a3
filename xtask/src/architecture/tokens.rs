//! Finds paths in the tokens of macro invocations and definitions, which are not parsed.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A path in a token stream.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenPath {
    pub segments: Vec<String>,
    pub line: usize,
}

/// Returns the paths that may name an item: `a::b`, `$crate::a`, types such as `Name`, and calls such as `name(..)`.
pub fn paths(tokens: TokenStream) -> Vec<TokenPath> {
    let mut found = Vec::new();
    scan(tokens, &mut found);
    found
}

fn scan(tokens: TokenStream, found: &mut Vec<TokenPath>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut index = 0;
    while index < trees.len() {
        match &trees[index] {
            TokenTree::Group(group) => scan(group.stream(), found),
            TokenTree::Ident(first) => {
                let is_member = index > 0 && is_punct(&trees[index - 1], '.');
                let (start, line) = (index, first.span().start().line);
                let mut segments = vec![plain(first)];
                while let Some(next) = continuation(&trees, index) {
                    segments.push(plain(next));
                    index += 3;
                }
                let is_call = matches!(
                    trees.get(index + 1),
                    Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis
                );
                let is_definition =
                    start > 0 && matches!(&trees[start - 1], TokenTree::Ident(before) if before == "fn");
                let is_type = segments[0].starts_with(|c: char| c.is_ascii_uppercase());
                if !is_member && !is_definition && (segments.len() > 1 || is_call || is_type) {
                    found.push(TokenPath { segments, line });
                }
            }
            _ => {}
        }
        index += 1;
    }
}

/// Returns the identifier after `::`, if the path continues after `index`.
fn continuation(trees: &[TokenTree], index: usize) -> Option<&proc_macro2::Ident> {
    let joint =
        matches!(trees.get(index + 1)?, TokenTree::Punct(p) if p.as_char() == ':' && p.spacing() == Spacing::Joint);
    match trees.get(index + 3)? {
        TokenTree::Ident(ident) if joint && is_punct(&trees[index + 2], ':') => Some(ident),
        _ => None,
    }
}

fn is_punct(tree: &TokenTree, wanted: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Returns an identifier without `r#`.
fn plain(ident: &proc_macro2::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}
