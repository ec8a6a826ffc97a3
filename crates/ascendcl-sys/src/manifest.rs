//! The manifest: every public function of the interface and what this project does with it.
//!
//! From it come the exported stubs of absent functions, the support table in the documents and
//! the tests that count exports. It does not describe behaviour.

/// One public function.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    pub name: &'static str,
    /// The public header that declares it, directly or through an area header.
    pub header: &'static str,
    pub area: &'static str,
    pub priority: Priority,
    pub deprecated: bool,
    /// Product families that document it: bit 0 = 950, A3, A2, 310B, 310P, 910 = bit 5.
    pub products: u8,
    pub state: Support,
    pub prototype: &'static str,
}

/// Functions that tell of errors, or answer before there is a runtime: what they return is no code of their own.
const ANSWERS: [&str; 3] = ["aclrtGetLastError", "aclrtPeekAtLastError", "aclsysGetCANNVersion"];

/// Functions with a code that ask no machine for anything: they change a description, or always refuse.
const ALONE: [&str; 8] = [
    "aclDestroyDataBuffer",
    "aclUpdateDataBuffer",
    "aclrtGetSymbolAddress",
    "aclrtGetSymbolSize",
    "aclrtMemcpyFromSymbol",
    "aclrtMemcpyFromSymbolAsync",
    "aclrtMemcpyToSymbol",
    "aclrtMemcpyToSymbolAsync",
];

impl Function {
    /// Whether a machine is asked, so that fault rules can meet the call.
    pub fn uses_machine(&self) -> bool {
        !ALONE.contains(&self.name)
    }

    /// Whether it returns a code that says how the call went.
    pub fn has_code(&self) -> bool {
        self.prototype.trim_start().starts_with("aclError") && !ANSWERS.contains(&self.name)
    }
}

/// How much clients need a function: P0 by every copy client, P1 by real clients, P2 the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    P0,
    P1,
    P2,
}

/// What this project does with a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Behaves as specified.
    Complete,
    /// Works, with the named limit.
    Partial(&'static str),
    /// Exported; says so once and returns 207000. The text says why, when there is a reason
    /// beyond "not yet".
    Absent(&'static str),
}

include!(concat!(env!("OUT_DIR"), "/manifest.rs"));

/// The type definitions of the headers, one in a line: name, a tab, the declaration in C.
pub const TYPEDEFS: &str = include_str!("../tables/typedefs.tsv");

/// The layouts of the structs of the headers, one field in a line that begins with the name of the struct.
pub const LAYOUTS: &str = include_str!("../tables/layout.tsv");

/// Looks a function up by its C name.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_public_functions_are_listed_once() {
        let mut names: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((FUNCTIONS.len(), names.len()), (509, 509));
        let of = |p| FUNCTIONS.iter().filter(|f| f.priority == p).count();
        assert_eq!((of(Priority::P0), of(Priority::P1)), (70, 144));
    }

    #[test]
    fn every_function_of_the_first_priority_is_there() {
        for f in FUNCTIONS.iter().filter(|f| f.priority == Priority::P0) {
            assert!(!matches!(f.state, Support::Absent(_)), "{} is absent", f.name);
        }
    }
}
