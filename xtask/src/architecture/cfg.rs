//! Evaluates `#[cfg(...)]` attributes: which items belong to the product.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Options that only tests set.
const TEST_OPTIONS: [&str; 3] = ["test", "loom", "shuttle"];

/// Returns `true` if an item with these attributes exists only under `test`, `loom` or `shuttle`. Options that depend
/// on the target or on features count as possible.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    let predicates = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    predicates.filter_map(|attribute| attribute.parse_args::<Meta>().ok()).any(|meta| evaluate(&meta) == Some(false))
        || attributes.iter().any(|attribute| attribute.path().is_ident("test"))
}

/// Returns the attributes that `#[cfg_attr(...)]` may add outside of tests.
pub fn conditional(attribute: &Attribute) -> Vec<Meta> {
    if !attribute.path().is_ident("cfg_attr") {
        return Vec::new();
    }
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    let Ok(metas) = attribute.parse_args_with(parser) else { return Vec::new() };
    let mut metas = metas.into_iter();
    let is_possible = metas.next().is_some_and(|predicate| evaluate(&predicate) != Some(false));
    metas.filter(|_| is_possible).collect()
}

/// Value of a predicate outside of tests. `None` if it depends on the target or on features.
fn evaluate(predicate: &Meta) -> Option<bool> {
    match predicate {
        Meta::Path(path) => TEST_OPTIONS.iter().any(|option| path.is_ident(option)).then_some(false),
        Meta::NameValue(_) => None,
        Meta::List(list) => {
            let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
            let values: Vec<Option<bool>> = list.parse_args_with(parser).ok()?.iter().map(evaluate).collect();
            if list.path.is_ident("not") {
                values.first().copied().flatten().map(|value| !value)
            } else if list.path.is_ident("all") {
                combine(&values, false)
            } else if list.path.is_ident("any") {
                combine(&values, true)
            } else {
                None
            }
        }
    }
}

/// Combines the values of a list in which `decisive` decides the result: `false` for `all`, `true` for `any`.
fn combine(values: &[Option<bool>], decisive: bool) -> Option<bool> {
    if values.contains(&Some(decisive)) {
        Some(decisive)
    } else if values.contains(&None) {
        None
    } else {
        Some(!decisive)
    }
}
