//! Options of the conformance runner.

use std::path::PathBuf;

/// Selects the library, the programs and how they run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of `libascendcl.so`.
    pub library_dir: PathBuf,
    /// Directory that contains `acl/acl.h`.
    pub include_dir: PathBuf,
    /// Directory of the programs, with one subdirectory per topic.
    pub source_dir: PathBuf,
    /// Directory for binaries and the output of runs.
    pub build_dir: PathBuf,
    /// Run the programs under an observer and verify its output.
    pub observer: Option<Observer>,
    /// Build the programs (not the library) with a sanitizer.
    pub sanitizer: Option<Sanitizer>,
    /// Run only programs whose `topic/name` contains this text.
    pub filter: Option<String>,
    /// The library drives a card: set no `SOFTACL_*` variables and skip programs that need them.
    pub real_hardware: bool,
    /// Run only on this product.
    pub soc: Option<String>,
    /// Target triple other than the host's. The programs are built with its compilers and started with cargo's runner
    /// for it.
    pub target: Option<String>,
}

/// Number of random schedules.
pub type Seeds = u64;

/// Observer that is attached to the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observer {
    /// Runs on `early`, `late` and this many random schedules. Fails if a finding is proven that the program does not
    /// declare.
    Checker(Seeds),
    /// Fails if a trace is inconsistent.
    Tracer,
}

/// Sanitizers that the programs can run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sanitizer {
    Address,
    Thread,
    /// UndefinedBehaviorSanitizer.
    Undefined,
    /// Runs the unmodified binaries in valgrind, which also instruments the library.
    Valgrind,
}

impl Sanitizer {
    pub const ALL: [Sanitizer; 4] = [Sanitizer::Address, Sanitizer::Thread, Sanitizer::Undefined, Sanitizer::Valgrind];

    pub fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "address",
            Sanitizer::Thread => "thread",
            Sanitizer::Undefined => "undefined",
            Sanitizer::Valgrind => "valgrind",
        }
    }

    /// Compiler flags.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Sanitizer::Address => &["-fsanitize=address", "-fno-omit-frame-pointer"],
            Sanitizer::Thread => &["-fsanitize=thread"],
            Sanitizer::Undefined => &["-fsanitize=undefined", "-fno-sanitize-recover=all"],
            Sanitizer::Valgrind => &[],
        }
    }

    /// Command that starts a program.
    pub fn launcher(self) -> &'static [&'static str] {
        match self {
            Sanitizer::Address | Sanitizer::Undefined => &[],
            // ThreadSanitizer fails if the address space is randomized.
            Sanitizer::Thread => &["setarch", "-R"],
            Sanitizer::Valgrind => &[
                "valgrind",
                "--quiet",
                "--error-exitcode=66",
                "--leak-check=full",
                "--show-leak-kinds=definite,indirect",
                "--errors-for-leak-kinds=definite,indirect",
            ],
        }
    }
}
