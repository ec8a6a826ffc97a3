//! The C API as data: every exported function with its parameter types, callable with arbitrary values.

use std::sync::LazyLock;

// Linked for its exports.
use ascendcl_capi as _;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Number of words that a call passes on the stack: more than any function reads.
const STACK: usize = 18;

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Type without `const` and spaces: `void**`, `aclrtStream`.
    pub kind: String,
    pub name: String,
}

impl Parameter {
    /// Returns the type it points to. `None` if it is not written as a pointer.
    pub fn pointee(&self) -> Option<&str> {
        self.kind.strip_suffix('*')
    }

    /// For structures passed by value, returns their size in words and whether they are passed in registers.
    fn by_value(&self) -> Option<(usize, bool)> {
        match self.kind.as_str() {
            "dim3" => Some((2, true)),
            "aclrtMemManagedLocation" => Some((1, true)),
            "aclmdlRICondTaskParams" => Some((3, false)),
            "aclrtIpcEventHandle" => Some((8, false)),
            _ => None,
        }
    }

    /// Number of words that a caller provides.
    pub fn words(&self) -> usize {
        self.by_value().map_or(1, |(words, _)| words)
    }
}

/// An exported function.
#[derive(Debug)]
pub struct Function {
    pub name: &'static str,
    pub parameters: Vec<Parameter>,
    /// True if the function returns a code, where 0 is success.
    pub returns_code: bool,
    entry: unsafe extern "C" fn(),
}

/// Every public function.
pub static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| TABLE.iter().map(function).collect());

/// Parses a row of the table.
fn function((name, prototype, entry): &(&'static str, &'static str, unsafe extern "C" fn())) -> Function {
    let (result, rest) = prototype.split_once(name).expect("a prototype has its name");
    let list = rest.trim().trim_end_matches(';').trim().trim_start_matches('(').trim_end_matches(')');
    let parameters = list.split(',').filter(|part| !matches!(part.trim(), "" | "void" | "...")).map(parameter);
    Function {
        name,
        parameters: parameters.collect(),
        returns_code: result.trim().ends_with("aclError"),
        entry: *entry,
    }
}

/// Parses the declaration of a parameter.
fn parameter(text: &str) -> Parameter {
    let text = text.trim();
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '[' || c == ']')).map_or(0, |at| at + 1);
    let (kind, name) = text.split_at(start);
    let array = if name.contains('[') { "*" } else { "" };
    let kind: String = kind.split_whitespace().filter(|word| *word != "const").collect::<Vec<_>>().concat();
    Parameter { kind: kind.replace("const", "") + array, name: name.split('[').next().unwrap_or_default().to_owned() }
}

type Raw = unsafe extern "C" fn(
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
) -> u64;
type RawFloat = unsafe extern "C" fn(f32) -> u64;

impl Function {
    /// Calls the function. Passes the words of each parameter as in the System V calling convention of x86-64.
    pub fn call(&self, words: &[Vec<u64>]) -> u64 {
        if let [one] = self.parameters.as_slice()
            && one.kind == "float"
        {
            // SAFETY: the function takes one float, in a vector register.
            let entry = unsafe { std::mem::transmute::<unsafe extern "C" fn(), RawFloat>(self.entry) };
            // SAFETY: the function takes one float, and every value is valid.
            return unsafe { entry(f32::from_bits(words[0][0] as u32)) };
        }
        let (mut registers, mut stack) = (Vec::new(), Vec::new());
        for (parameter, words) in self.parameters.iter().zip(words) {
            let fits = parameter.by_value().is_none_or(|(_, fits)| fits) && registers.len() + words.len() <= 6;
            if fits { &mut registers } else { &mut stack }.extend_from_slice(words);
        }
        registers.resize(6, 0);
        assert!(stack.len() <= STACK, "{} has more parameters than a call passes", self.name);
        stack.resize(STACK, 0);
        let (r, s) = (&registers, &stack);
        // SAFETY: the caller removes the arguments, so extra words are harmless. Every result fits a register or is
        // ignored.
        let entry = unsafe { std::mem::transmute::<unsafe extern "C" fn(), Raw>(self.entry) };
        // SAFETY: that no argument values cause undefined behavior is what the fuzzer tests.
        unsafe {
            entry(
                r[0], r[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10],
                s[11], s[12], s[13], s[14], s[15], s[16], s[17],
            )
        }
    }
}

/// Returns the index of a function in `FUNCTIONS`.
pub fn index_of(name: &str) -> usize {
    FUNCTIONS.iter().position(|function| function.name == name).unwrap_or_else(|| panic!("{name} does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_parse_to_parameter_types() {
        let kinds = |name: &str| -> Vec<String> {
            FUNCTIONS[index_of(name)].parameters.iter().map(|parameter| parameter.kind.clone()).collect()
        };
        assert_eq!(FUNCTIONS.len(), 509);
        assert_eq!(kinds("aclrtMalloc"), ["void**", "size_t", "aclrtMemMallocPolicy"]);
        assert_eq!(kinds("aclrtMemcpy"), ["void*", "size_t", "void*", "size_t", "aclrtMemcpyKind"]);
        assert!(kinds("aclFinalize").is_empty());
        assert_eq!(kinds("aclFloatToFloat16"), ["float"]);
        for function in FUNCTIONS.iter() {
            for parameter in &function.parameters {
                assert!(!parameter.kind.is_empty() && !parameter.kind.contains(' '), "{function:?}");
            }
        }
    }
}
