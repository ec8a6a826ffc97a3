//! The tree of a toolkit: directories, links and text files that builds and detection code look for.
//!
//! Only places that public clients read are here. A directory without contents exists because a client tests for it.

use crate::files::{write_file, write_link};
use crate::places::{ACLNN_LIBRARIES, LIBRARIES, LINKED_LIBRARIES, STUB_LIBRARIES};
use crate::variables::script;
use crate::versions::driver_version;
use std::fs;
use std::io;
use std::path::Path;

/// Processor in the names of directories and files.
const ARCH: &str = std::env::consts::ARCH;

/// Components whose `version.info` clients read: MindSpore reads that of the compiler, torch_npu tests for the runtime.
const COMPONENTS: [&str; 4] = ["runtime", "compiler", "opp", "toolkit"];

/// Makes `import torch` load the kernels for the device "npu". Not the distribution `softacl`, which has more entry
/// points and may be installed as a wheel.
const BACKEND: [(&str, &str); 2] = [
    ("METADATA", "Metadata-Version: 2.1\nName: softacl-torch\nVersion: @VERSION@\n"),
    ("entry_points.txt", "[torch.backends]\nsoftacl = softacl.torch:autoload\n"),
];

enum Node {
    Directory,
    /// Target, relative to the directory of the link.
    Link(&'static str),
    Text(String),
}

/// Writes the tree to `home`, for a CANN version. Existing files are replaced. The library itself, the headers, the
/// tools and the Python package are not included.
pub fn write(home: &Path, version: &str) -> io::Result<()> {
    for (path, node) in nodes(version) {
        let path = home.join(path);
        match node {
            Node::Directory => fs::create_dir_all(&path),
            Node::Link(target) => write_link(Path::new(target), &path),
            Node::Text(text) => write_file(&path, text.as_bytes(), 0o644),
        }
        .map_err(|error| io::Error::new(error.kind(), format!("writing {}: {error}", path.display())))?;
    }
    for library in softacl_stubs::LIBRARIES {
        write_file(&home.join(STUB_LIBRARIES).join(library.name), library.bytes, 0o755)?;
    }
    // Links, not copies: a program that loads several of these names must get one engine.
    for library in softacl_stubs::NAMES {
        write_link(Path::new("libascendcl.so"), &home.join(LIBRARIES).join(library.name))?;
    }
    for library in softacl_stubs::EMPTY {
        write_file(&home.join(LIBRARIES).join(library.name), library.bytes, 0o755)?;
    }
    for library in softacl_stubs::HCCL_NAMES {
        write_link(Path::new("libhccl.so"), &home.join(LIBRARIES).join(library.name))?;
    }
    for library in softacl_stubs::OPERATOR_NAMES {
        write_link(Path::new("libopapi.so"), &home.join(ACLNN_LIBRARIES).join(library.name))?;
    }
    for (directory, name) in linked() {
        let target = Path::new("../..").join(directory).join(name);
        write_link(&target, &home.join(LINKED_LIBRARIES).join(name))?;
    }
    write_file(&home.join("set_env.sh"), script(&fs::canonicalize(home)?).as_bytes(), 0o644)
}

/// Directory and name of every library that a program may be linked with.
fn linked() -> Vec<(&'static str, &'static str)> {
    let mut all = vec![(LIBRARIES, "libascendcl.so"), (LIBRARIES, "libhccl.so"), (ACLNN_LIBRARIES, "libopapi.so")];
    for (directory, libraries) in [
        (LIBRARIES, softacl_stubs::NAMES),
        (LIBRARIES, softacl_stubs::EMPTY),
        (LIBRARIES, softacl_stubs::HCCL_NAMES),
        (ACLNN_LIBRARIES, softacl_stubs::OPERATOR_NAMES),
        (STUB_LIBRARIES, softacl_stubs::LIBRARIES),
    ] {
        all.extend(libraries.iter().map(|library| (directory, library.name)));
    }
    all
}

fn nodes(version: &str) -> Vec<(String, Node)> {
    let mut all: Vec<(String, Node)> = Vec::new();
    let mut add = |path: &str, node: Node| all.push((path.replace("ARCH", ARCH), node));
    // Paths that end in "latest" or in the processor's name lead to the same tree.
    add("latest", Node::Link("."));
    for part in ["include", "lib64"] {
        let target = if part == "include" { "../include" } else { "../lib64" };
        for directory in ["runtime", "compiler", "acllib", "fwkacllib", "ARCH-linux"] {
            add(&format!("{directory}/{part}"), Node::Link(target));
        }
    }
    add("ARCH-linux/devlib", Node::Link("../lib64"));
    add("bin/setenv.bash", Node::Link("../set_env.sh"));
    for directory in ["opp/built-in", "opp/vendors", "toolkit", "lib64", ACLNN_LIBRARIES] {
        add(directory, Node::Directory);
    }
    for component in COMPONENTS {
        add(&format!("{component}/version.info"), Node::Text(component_version(version)));
    }
    add("driver/version.info", Node::Text(driver_version(version)));
    add("version.cfg", Node::Text(running_versions(version)));
    for (file, text) in BACKEND {
        let directory = "python/site-packages/softacl_torch.dist-info";
        add(&format!("{directory}/{file}"), Node::Text(text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))));
    }
    add("ARCH-linux/ascend_toolkit_install.info", Node::Text(install_info(version)));
    all
}

fn component_version(version: &str) -> String {
    format!("Version={version}\nversion_dir={version}\ntimestamp=softacl\n")
}

/// Versions of the components in use.
fn running_versions(version: &str) -> String {
    let line = |component: &&str| format!("{component}_running_version=[{version}:{version}]\n");
    format!("# version: 1.0\n{}", COMPONENTS.iter().map(line).collect::<String>())
}

/// Description of the package. `torch_npu` and collect_env scripts read the version.
fn install_info(version: &str) -> String {
    format!("package_name=softacl\nversion={version}\ninnerversion=softacl\narch={ARCH}\nos=linux\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_can_be_written_twice_and_every_link_has_a_target() {
        let home = std::env::temp_dir().join(format!("softacl-tree-{}", std::process::id()));
        for part in ["include/acl/acl.h", "lib64/libascendcl.so", "lib64/libhccl.so", "aclnn/lib64/libopapi.so"] {
            write_file(&home.join(part), b"from the build", 0o644).unwrap();
        }
        write(&home, "8.5.0").unwrap();
        write(&home, "9.2.0").unwrap();
        let mut links = 0;
        for (path, node) in nodes("9.2.0") {
            let full = home.join(&path);
            assert!(full.exists(), "{path} does not exist, or leads nowhere");
            if let Node::Text(text) = node {
                assert_eq!(fs::read_to_string(&full).unwrap(), text, "{path}");
            } else if full.is_symlink() {
                links += 1;
            }
        }
        assert!(links > 10, "{links} links");
        for path in ["runtime/include/acl/acl.h", "latest/lib64/libacl_rt.so", "lib64/stub/libmsprofiler.so"] {
            assert_eq!(fs::read(home.join(path)).unwrap(), b"from the build", "{path}");
        }
        // Builds that name only lib64 find these through LIBRARY_PATH.
        for name in
            ["ascendcl", "acl_dvpp", "hccl", "hcomm", "nnopbase", "opapi", "opapi_math", "acl_op_compiler", "graph"]
        {
            assert!(home.join(LINKED_LIBRARIES).join(format!("lib{name}.so")).exists(), "-l{name}");
        }
        fs::remove_dir_all(&home).unwrap();
    }
}
