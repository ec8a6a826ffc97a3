//! Stand-ins for vendor libraries that programs such as `torch_npu` name and hardly use.
//!
//! `torch_npu` cannot be loaded unless every library that it names is there and every symbol that it was linked
//! with exists. `libraries.tsv` lists the names, `symbols.tsv` the symbols that `libascendcl.so` does not have;
//! the build makes shared libraries from them. A function of a stand-in says once what is missing and returns an
//! error (or 0 where its result is no code); none pretends. Functions that clients look for at run time are left
//! out on purpose: a client that does not find one knows that the feature is absent.

/// One stand-in, ready to be written to a file.
#[derive(Clone, Copy)]
pub struct Library {
    pub name: &'static str,
    /// What the library of this name does where there is a card.
    pub purpose: &'static str,
    pub bytes: &'static [u8],
}

/// All of them.
pub static LIBRARIES: &[Library] = include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

#[cfg(test)]
mod tests {
    use super::LIBRARIES;
    use std::process::Command;
    use std::{env, fs};

    #[test]
    fn every_library_needs_the_runtime_and_has_its_symbols() {
        let place = env::temp_dir().join(format!("softacl-stubs-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let table = include_str!("../symbols.tsv");
        let mut seen = 0;
        for library in LIBRARIES {
            let path = place.join(library.name);
            fs::write(&path, library.bytes).unwrap();
            let tell = |arguments: &[&str]| {
                let output = Command::new(arguments[0]).args(&arguments[1..]).arg(&path).output().unwrap();
                String::from_utf8(output.stdout).unwrap()
            };
            let dynamic = tell(&["readelf", "--wide", "--dynamic"]);
            assert!(dynamic.contains("NEEDED") && dynamic.contains("[libascendcl.so]"), "{dynamic}");
            assert!(dynamic.contains(&format!("soname: [{}]", library.name)), "{dynamic}");
            let symbols = tell(&["nm", "--dynamic", "--defined-only"]);
            for row in table.lines().skip(1).filter(|row| row.starts_with(library.name)) {
                let name = row.split('\t').nth(1).unwrap();
                assert!(symbols.lines().any(|line| line.ends_with(&format!(" T {name}"))), "{name}: {symbols}");
                seen += 1;
            }
        }
        assert_eq!((LIBRARIES.len(), seen), (5, table.lines().count() - 1));
        fs::remove_dir_all(&place).unwrap();
    }
}
