//! Fault rules of this process: given in SOFTACL_FAULTS, applied at the entry, summarized at exit.
//!
//! The engine implements the rules (`injection`). Here are the function names and codes that they may use, rule files,
//! the arguments that filters match, and the summary.

use ascendcl_sys::{ByteCount, FUNCTIONS, Function, Support};
use softacl_engine::{Caller, StreamKey, segv};
use softacl_faults::{Injection, MatchContext, Rule, Vocabulary, parse};
use softacl_profiles::closest_match;
use std::fs;
use std::sync::{Arc, OnceLock};

static INJECTION: OnceLock<Option<Arc<Injection>>> = OnceLock::new();

/// Maximum size of a rule file.
const MAX_RULE_FILE_BYTES: u64 = 1 << 20;

/// Installs the rules in SOFTACL_FAULTS, for a machine with `devices` devices. The error names the variable.
pub(crate) fn install(text: Option<&str>, devices: usize) -> Result<Option<Arc<Injection>>, String> {
    let rules = match text {
        None => Vec::new(),
        Some(text) => rules(text).map_err(|why| format!("SOFTACL_FAULTS: {why}"))?,
    };
    let injection = (!rules.is_empty()).then(|| Arc::new(Injection::new(rules, devices)));
    Ok(INJECTION.get_or_init(|| injection).clone())
}

/// Parses rules, or the file that `@FILE` names.
pub fn rules(text: &str) -> Result<Vec<Rule>, String> {
    let words = Vocabulary { function: known_function, near: suggest_function, code: code_of };
    match text.trim().strip_prefix('@') {
        None => parse(text, words).map_err(|error| error.to_string()),
        Some("") => Err("@ must be followed by the name of a rule file, such as @bad-day.rules".to_owned()),
        Some(path) => {
            let cannot = |why: String| format!("{path}: {why}");
            let size = fs::metadata(path).map_err(|error| cannot(error.to_string()))?.len();
            if size > MAX_RULE_FILE_BYTES {
                return Err(cannot(format!(
                    "{size} bytes exceed the limit of {MAX_RULE_FILE_BYTES} bytes for a rule file"
                )));
            }
            let text = fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
            parse(&text, words).map_err(|error| cannot(error.to_string()))
        }
    }
}

/// Checks that rules can apply to a function. A trailing star matches any rest of the name.
fn known_function(name: &str) -> Result<(), String> {
    if let Some(start) = name.strip_suffix('*') {
        let fits = FUNCTIONS.iter().any(|function| function.name.starts_with(start));
        return if fits { Ok(()) } else { Err(format!("no function of the API starts with {start}")) };
    }
    let Some(function) = ascendcl_sys::manifest::function(name) else {
        return Err(match suggest_function(name) {
            Some(near) => format!("function {name} does not exist; did you mean {near}?"),
            None => format!("function {name} does not exist"),
        });
    };
    if matches!(function.state, Support::Absent(_)) {
        return Err(format!("{name} is not implemented by softacl and always returns 207000"));
    }
    if !function.has_code() {
        return Err(format!("{name} returns no code, so it cannot fail"));
    }
    if !function.uses_machine() {
        return Err(format!("{name} does not use the simulated machine, so no rule matches it"));
    }
    Ok(())
}

/// Returns the function with the most similar name.
fn suggest_function(name: &str) -> Option<&'static str> {
    closest_match(name, FUNCTIONS.iter().map(|function| function.name))
}

fn code_of(name: &str) -> Option<i32> {
    ascendcl_sys::CODES.iter().find(|(_, known)| *known == name).map(|(code, _)| *code)
}

/// Returns what fault rules can match of a call: its bytes, stream and device. The device is the one that the call
/// names, otherwise that of the current context. `arguments` are the raw arguments by position.
pub(crate) fn match_context(function: &Function, arguments: &[u64], caller: Caller<'_>) -> MatchContext {
    let named = named_context(function, arguments);
    MatchContext { device: named.device.or_else(|| caller.device().ok().map(u64::from)), ..named }
}

/// Returns what the arguments of a call name.
fn named_context(function: &Function, arguments: &[u64]) -> MatchContext {
    let stream = function.stream.and_then(|position| StreamKey::from_raw(arguments[position] as usize));
    MatchContext {
        size: bytes(function.bytes, arguments),
        stream: stream.map(|key| key.index() as u64),
        device: function.device.map(|position| arguments[position]),
        ..MatchContext::default()
    }
}

/// Returns the bytes of a call. `None` if it has none, or if the array of sizes is not readable.
fn bytes(count: ByteCount, arguments: &[u64]) -> Option<u64> {
    match count {
        ByteCount::None | ByteCount::Unknown => None,
        ByteCount::Argument(position) => Some(arguments[position]),
        ByteCount::Elements { count, size } => Some(arguments[count].saturating_mul(size)),
        ByteCount::Product(first, second) => Some(arguments[first].saturating_mul(arguments[second])),
        ByteCount::Sum { sizes, count } => sum(arguments[sizes] as usize, arguments[count]),
    }
}

/// Adds up `count` values of type `size_t` in memory of the program.
fn sum(address: usize, count: u64) -> Option<u64> {
    let _guard = segv::enter();
    let mut total = 0u64;
    for index in 0..usize::try_from(count).ok()? {
        let mut value = [0; size_of::<usize>()];
        let at = address.checked_add(index.checked_mul(value.len())?)?;
        // SAFETY: the program passed the array to the call in progress.
        if address == 0 || !unsafe { segv::try_read(at, &mut value) } {
            return None;
        }
        total = total.saturating_add(usize::from_ne_bytes(value) as u64);
    }
    Some(total)
}

/// Returns the summary of the rules, one line for each.
pub(crate) fn summary() -> Vec<String> {
    INJECTION.get().and_then(Option::as_ref).map(|injection| injection.summary()).unwrap_or_default()
}

/// Prints the fault-injection summary to stderr.
pub(crate) fn print_summary() {
    let lines = summary();
    if let Some(injection) = INJECTION.get().and_then(Option::as_ref) {
        let fired: u64 = injection.rules().iter().map(Rule::fired).sum();
        let plural = |n: u64, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
        let head =
            format!("softacl faults: {}, {} injected", plural(lines.len() as u64, "rule"), plural(fired, "fault"));
        eprintln!("{head}\n  {}", lines.join("\n  "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ascendcl_sys::manifest::OTHER_FUNCTIONS;
    use ascendcl_sys::rows;
    use softacl_engine::{Config, Machine, StreamOptions};
    use std::cell::Cell;

    #[test]
    fn misspelled_rules_suggest_the_intended_word() {
        let expectations = [
            ("@", "@ must be followed by the name of a rule file, such as @bad-day.rules"),
            (" @ ", "@ must be followed by the name of a rule file"),
            ("copi=lost", "; did you mean copy?"),
            ("aclUpdateDataBuffer=100000", "no rule matches it"),
            ("alcrtMalloc=207001", "; did you mean aclrtMalloc?"),
            ("aclrtMallok=207001", "function aclrtMallok does not exist; did you mean aclrtMalloc?"),
        ];
        for (text, part) in expectations {
            let why = rules(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(!rules("disk=lost").unwrap_err().contains("did you mean"));
    }

    /// A value for each argument that no other argument has, nor a product or multiple of two others.
    fn arguments(function: &Function) -> Vec<u64> {
        (0..function.parameters.len() as u64).map(|position| 1 << (4 + position)).collect()
    }

    #[test]
    fn every_row_reads_bytes_device_and_stream_of_its_arguments() {
        let sizes = [3usize, 5, 70_000];
        let mut columns = 0;
        for function in FUNCTIONS.iter().chain(OTHER_FUNCTIONS) {
            let mut arguments = arguments(function);
            let argument = |name: &str| {
                let position = function.parameters.iter().position(|known| *known == name);
                position.unwrap_or_else(|| panic!("{} has no parameter {name}", function.name))
            };
            let expected = match function.bytes {
                ByteCount::None | ByteCount::Unknown => None,
                ByteCount::Argument(_) => {
                    let named = ["size", "count"].into_iter().find(|name| function.parameters.contains(name));
                    Some(arguments[argument(named.expect(function.name))])
                }
                ByteCount::Elements { size, .. } => Some(arguments[argument("N")] * size),
                ByteCount::Product(..) => Some(arguments[argument("width")] * arguments[argument("height")]),
                ByteCount::Sum { .. } => {
                    arguments[argument("sizes")] = sizes.as_ptr() as u64;
                    arguments[argument("numBatches")] = sizes.len() as u64;
                    Some(70_008)
                }
            };
            let found = named_context(function, &arguments);
            assert_eq!(found.size, expected, "bytes of {}", function.name);
            assert_eq!(found.device, function.device.map(|position| arguments[position]), "{}", function.name);
            columns += usize::from(expected.is_some()) + usize::from(found.device.is_some());
        }
        assert!(columns > 60, "only {columns} columns were checked");
    }

    #[test]
    fn rules_with_size_and_device_filters_fire_for_every_row_with_the_column() {
        let is_injectable = |f: &&Function| f.has_code() && f.uses_machine() && !matches!(f.state, Support::Absent(_));
        for function in FUNCTIONS.iter().filter(is_injectable) {
            let sizes = [4096usize];
            let mut arguments = arguments(function);
            if let ByteCount::Sum { sizes: array, count } = function.bytes {
                (arguments[array], arguments[count]) = (sizes.as_ptr() as u64, 1);
            }
            if let Some(device) = function.device {
                arguments[device] = 1;
            }
            let context = named_context(function, &arguments);
            for (column, filter) in
                [(context.size, format!("size={}", context.size.unwrap_or(0))), (context.device, "device=1".to_owned())]
            {
                let text = format!("{}[{filter}]=507899", function.name);
                let injection = Injection::new(rules(&text).unwrap(), 2);
                let has_fired = injection.call(function.name, || named_context(function, &arguments)).is_some();
                assert_eq!(has_fired, column.is_some(), "{text}");
            }
        }
    }

    #[test]
    fn rules_with_a_stream_filter_fire_for_every_row_with_the_column() {
        let machine = Machine::with_observer(Config::default(), None).unwrap();
        let current = Cell::new(None);
        // SAFETY: the test passes no address.
        let caller = unsafe { Caller::new(&machine, &current) };
        caller.set_device(0).unwrap();
        let stream = caller.create_stream(StreamOptions::default()).unwrap();
        for function in FUNCTIONS.iter().chain(OTHER_FUNCTIONS) {
            let mut arguments = arguments(function);
            if let Some(position) = function.stream {
                assert!(function.parameters[position].to_lowercase().ends_with("stream"), "{}", function.name);
                arguments[position] = stream.raw() as u64;
            }
            let expected = function.stream.map(|_| stream.index() as u64);
            assert_eq!(named_context(function, &arguments).stream, expected, "{}", function.name);
        }
    }

    #[test]
    fn bytes_are_those_of_the_call() {
        let bytes = |function: &Function, arguments: &[u64]| named_context(function, arguments).size;
        assert_eq!(bytes(rows::aclrtMemsetD32, &[0, 1 << 20, 7, 1024]), Some(4096));
        assert_eq!(bytes(rows::aclrtMemcpy2d, &[0, 512, 0, 1024, 100, 30, 1]), Some(3000));
        assert_eq!(bytes(rows::aclrtIpcMemGetExportKey, &[0, 4096, 0, 65, 0]), Some(4096));
        assert_eq!(bytes(rows::aclrtMemSetAccess, &[0, 4096, 0, 1]), Some(4096));
        assert_eq!(bytes(rows::aclrtNotifyBatchReset, &[0, 3]), None);
        // Unreadable sizes, and a product that does not fit.
        assert_eq!(bytes(rows::aclrtMemcpyBatchV2, &[0, 0, 0, 0, 3, 0, 0, 0]), None);
        assert_eq!(bytes(rows::aclrtMemcpyBatchV2, &[0, 0, 0, 0, 0, 0, 0, 0]), Some(0));
        assert_eq!(bytes(rows::aclrtMemcpy2d, &[0, 0, 0, 0, u64::MAX, 2, 1]), Some(u64::MAX));
    }
}
