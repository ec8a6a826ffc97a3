//! The manifest: every public function of the API, what this project supports of it, and what its arguments mean.
//!
//! The exported stubs of unsupported functions, the support table in the documents, fault-rule filters and the
//! checker's classification of calls come from here. The semantics of a call are the engine's.

/// One public function.
#[derive(Debug)]
pub struct Function {
    pub name: &'static str,
    /// The public header that declares it, directly or through an area header.
    pub header: &'static str,
    pub area: &'static str,
    pub priority: Priority,
    pub deprecated: bool,
    /// The documented replacement of a deprecated function.
    pub replacement: Option<&'static str>,
    /// Product families that document it: bit 0 = 950, A3, A2, 310B, 310P, 910 = bit 5.
    pub products: u8,
    pub state: Support,
    pub family: Family,
    /// Queues work on data in stream order, and returns before the work is done. Events, notifies, values and
    /// callbacks only order streams and do not count.
    pub is_asynchronous: bool,
    /// Only reads state. Reading an error counts, even if it clears the error.
    pub is_query: bool,
    has_code: bool,
    uses_machine: bool,
    /// The bytes of a call.
    pub bytes: ByteCount,
    /// Position of the argument that names a device.
    pub device: Option<usize>,
    /// Position of the argument that names a stream.
    pub stream: Option<usize>,
    /// Parameter names, as the prototype spells them.
    pub parameters: &'static [&'static str],
    pub prototype: &'static str,
}

impl Function {
    /// Returns `true` if the function uses the simulated machine, so that fault rules can match its calls.
    pub fn uses_machine(&self) -> bool {
        self.uses_machine
    }

    /// Returns `true` if the result is a code that reports how the call went.
    pub fn has_code(&self) -> bool {
        self.has_code
    }
}

/// What a function does, as far as observers distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Copies one range, or prepares such a copy.
    Copy,
    /// Copies a rectangle of rows.
    Plane,
    /// Copies a list of ranges.
    Batch,
    /// Fills memory.
    Fill,
    /// Combines two ranges element by element.
    Reduce,
    /// Looks up a symbol of a device program.
    Symbol,
    /// Allocates memory.
    Allocation,
    /// Frees memory.
    Free,
    /// Registers, maps, shares or describes memory.
    Memory,
    /// Creates a context and makes it current.
    CreateContext,
    /// Makes a context current in the calling thread.
    SelectContext,
    /// Other functions on contexts.
    Context,
    /// Resets a device, which destroys its contexts.
    ResetDevice,
    /// Other functions on devices.
    Device,
    CreateStream,
    /// Other functions on streams.
    Stream,
    CreateEvent,
    /// Other functions on events.
    Event,
    Notify,
    /// Writes or waits for a value in device memory.
    Value,
    /// Maintains device caches.
    Cache,
    /// Blocks the calling thread until work is done.
    Synchronize,
    Callback,
    /// Captures, builds and runs graphs.
    Graph,
    /// Execution parameters of operators.
    Parameter,
    /// Describes and executes operators.
    Operator,
    /// Reads or repairs an error.
    Error,
    /// Exception callbacks, and bad memory of a device.
    Exception,
    /// Initialization, versions, logging and settings of the process.
    Process,
    /// Shared buffers, queues of messages, and channels of tensors.
    Queue,
    /// Profiles, and marks of the program on the timeline.
    Profile,
    /// Areas without any support.
    Other,
}

impl Family {
    /// Returns `true` for functions that create a context, a stream or an event.
    pub fn creates_object(self) -> bool {
        matches!(self, Family::CreateContext | Family::CreateStream | Family::CreateEvent)
    }

    /// Returns `true` for functions that copy, fill or combine memory.
    pub fn moves_data(self) -> bool {
        matches!(self, Family::Copy | Family::Plane | Family::Batch | Family::Fill | Family::Reduce)
    }
}

/// The bytes that a call moves, fills, allocates or names, by positions of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteCount {
    /// The function has no size in bytes.
    None,
    /// The size is not among the arguments.
    Unknown,
    /// One argument is the size.
    Argument(usize),
    /// One argument counts elements of `size` bytes.
    Elements { count: usize, size: u64 },
    /// Width times height of a 2D copy.
    Product(usize, usize),
    /// The sum of an array of `size_t` with `count` elements.
    Sum { sizes: usize, count: usize },
}

/// How much clients need a function: P0 by every copy client, P1 by real clients, P2 the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    P0,
    P1,
    P2,
}

/// How far this project supports a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Behaves as specified.
    Complete,
    /// Works, with the named limit.
    Partial(&'static str),
    /// Exported, but only prints a message once and returns 207000. The text is the reason, if there is one beyond
    /// "not yet".
    Absent(&'static str),
}

include!(concat!(env!("OUT_DIR"), "/manifest.rs"));

/// Every function of the public runtime headers.
pub static FUNCTIONS: &[Function] = &TABLE;

/// Functions with an entry of this library that the runtime headers do not declare: operators and extensions.
pub static OTHER_FUNCTIONS: &[Function] = &OTHERS;

/// Type definitions of the headers, one per line: name, tab, declaration in C.
pub const TYPEDEFS: &str = include_str!("../tables/typedefs.tsv");

/// Struct layouts of the headers, one field per line. A line starts with the name of the struct.
pub const LAYOUTS: &str = include_str!("../tables/layout.tsv");

/// Finds a function of the runtime headers by its C name.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_public_function_is_listed_once() {
        let mut names: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((FUNCTIONS.len(), names.len()), (509, 509));
        let of = |p| FUNCTIONS.iter().filter(|f| f.priority == p).count();
        assert_eq!((of(Priority::P0), of(Priority::P1)), (70, 144));
    }

    #[test]
    fn every_p0_function_is_supported() {
        for f in FUNCTIONS.iter().filter(|f| f.priority == Priority::P0) {
            assert!(!matches!(f.state, Support::Absent(_)), "{} is absent", f.name);
        }
    }

    #[test]
    fn rows_are_the_elements_of_the_tables() {
        for function in [rows::aclrtMalloc, rows::aclrtMemcpyAsync, rows::aclInit] {
            assert!(std::ptr::eq(super::function(function.name).unwrap(), function), "{}", function.name);
        }
        assert!(OTHER_FUNCTIONS.iter().any(|other| std::ptr::eq(other, rows::softaclHostView)));
    }

    /// Parameters of a function as (type, name).
    fn declarations(function: &Function) -> impl Iterator<Item = (&str, &str)> {
        let list = function.prototype.split_once('(').unwrap().1.trim_end_matches(");");
        let types = list.split(',').zip(function.parameters);
        types.map(|(text, name)| (text.trim().strip_suffix(name).unwrap_or(text).trim(), *name))
    }

    #[test]
    fn supported_functions_name_their_stream_and_device() {
        for function in FUNCTIONS.iter().filter(|f| !matches!(f.state, Support::Absent(_))) {
            let position =
                |of: &dyn Fn(&str, &str) -> bool| declarations(function).position(|(kind, name)| of(kind, name));
            let is_stream = |kind: &str| kind.trim_start_matches("const ") == "aclrtStream";
            // Of several streams, the one with this name gets the task.
            let own = position(&|kind, name| is_stream(kind) && name == "stream");
            let stream = own.or_else(|| position(&|kind, _| is_stream(kind)));
            assert_eq!(function.stream, stream, "{}", function.name);
            let device = position(&|kind, name| kind.ends_with("int32_t") && name == "deviceId");
            assert!(device.is_none() || function.device == device, "{}", function.name);
        }
    }

    #[test]
    fn functions_that_move_or_allocate_memory_have_a_byte_count() {
        for function in FUNCTIONS.iter().filter(|f| !matches!(f.state, Support::Absent(_))) {
            let has_bytes = function.family.moves_data() || function.family == Family::Allocation;
            if has_bytes && !function.is_query {
                assert_ne!(function.bytes, ByteCount::None, "{}", function.name);
            }
        }
        let unknown = FUNCTIONS.iter().filter(|function| function.bytes == ByteCount::Unknown);
        assert_eq!(unknown.map(|function| function.name).collect::<Vec<_>>(), ["aclrtMemcpyAsyncWithDesc"]);
    }

    #[test]
    fn asynchronous_functions_follow_the_naming_convention() {
        for function in FUNCTIONS {
            assert_eq!(function.is_asynchronous, function.name.contains("Async"), "{}", function.name);
        }
    }
}
