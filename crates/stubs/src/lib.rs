//! Stubs of vendor libraries that programs such as `torch_npu` are linked with but hardly use.
//!
//! `torch_npu` does not load unless every library that it needs is present and every symbol that it was linked with
//! exists. `libraries.tsv` lists the libraries, `symbols.tsv` the symbols that `libascendcl.so` does not have; the
//! build script generates shared libraries from them. The first call of a stub function prints what is missing. Every
//! call returns an error, or 0 if the result is not a code. No stub simulates success. Functions that clients look up
//! at run time are deliberately omitted: a client that does not find one treats the feature as absent.
//!
//! `libraries.tsv` also lists the other names of `libascendcl.so`. An installation has links with these names. Where
//! links are impossible, as in a wheel, a library without functions that needs `libascendcl.so` takes their place:
//! whichever names a program loads, it gets one engine.

/// A stub library, ready to be written to a file.
#[derive(Clone, Copy)]
pub struct Library {
    pub name: &'static str,
    /// Purpose of the vendor library with this name.
    pub purpose: &'static str,
    pub bytes: &'static [u8],
}

/// All stub libraries.
pub static LIBRARIES: &[Library] = include!(concat!(env!("OUT_DIR"), "/stub.rs"));

/// Other names of `libascendcl.so`, each as a library without functions that needs it.
pub static NAMES: &[Library] = include!(concat!(env!("OUT_DIR"), "/name.rs"));

/// Libraries whose headers softacl has but whose functions it has not: programs that only copy are linked with them, too.
/// No functions, and none is simulated; each needs `libascendcl.so`.
pub static EMPTY: &[Library] = include!(concat!(env!("OUT_DIR"), "/empty.rs"));

/// Other names of `libhccl.so`, each as a library without functions that needs it.
pub static HCCL_NAMES: &[Library] = include!(concat!(env!("OUT_DIR"), "/hccl.rs"));

/// Other names of `libopapi.so`, each as a library without functions that needs it.
pub static OPERATOR_NAMES: &[Library] = include!(concat!(env!("OUT_DIR"), "/operators.rs"));

#[cfg(test)]
mod tests {
    use super::{EMPTY, HCCL_NAMES, LIBRARIES, NAMES, OPERATOR_NAMES};
    use std::process::Command;
    use std::{env, fs};

    #[test]
    fn stub_libraries_need_the_runtime_and_export_their_symbols() {
        let directory = env::temp_dir().join(format!("softacl-stubs-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let table = include_str!("../symbols.tsv");
        let mut checked = 0;
        for library in LIBRARIES.iter().chain(NAMES).chain(EMPTY).chain(HCCL_NAMES).chain(OPERATOR_NAMES) {
            let path = directory.join(library.name);
            fs::write(&path, library.bytes).unwrap();
            let run = |arguments: &[&str]| {
                let output = Command::new(arguments[0]).args(&arguments[1..]).arg(&path).output().unwrap();
                String::from_utf8(output.stdout).unwrap()
            };
            let dynamic = run(&["readelf", "--wide", "--dynamic"]);
            let is_one_of = |names: &[super::Library]| names.iter().any(|name| name.name == library.name);
            let needed = match () {
                () if is_one_of(HCCL_NAMES) => "[libhccl.so]",
                () if is_one_of(OPERATOR_NAMES) => "[libopapi.so]",
                () => "[libascendcl.so]",
            };
            assert!(dynamic.contains("NEEDED") && dynamic.contains(needed), "{dynamic}");
            assert!(dynamic.contains(&format!("soname: [{}]", library.name)), "{dynamic}");
            let symbols = run(&["nm", "--dynamic", "--defined-only"]);
            for row in table.lines().skip(1).filter(|row| row.starts_with(library.name)) {
                let name = row.split('\t').nth(1).unwrap();
                assert!(symbols.lines().any(|line| line.ends_with(&format!(" T {name}"))), "{name}: {symbols}");
                checked += 1;
            }
        }
        assert_eq!((LIBRARIES.len(), NAMES.len(), EMPTY.len(), HCCL_NAMES.len()), (3, 6, 2, 1));
        assert_eq!(checked, table.lines().count() - 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
