//! Builds small programs with CMake in every way in which CMake files of public samples and projects find the toolkit.
//!
//! Such files differ in the variable that leads to the toolkit, in the directories below it, and in the names of the
//! libraries. The headers and the libraries must be found through the named directories alone.

use crate::{python, workspace};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A way to find the toolkit, in the words of a CMake file.
struct Layout {
    /// Directory and name of the program. Not the name of a library, which CMake would link to the program.
    name: &'static str,
    include: &'static str,
    library: &'static str,
    links: &'static str,
}

/// The layouts, from the oldest toolkits to the newest. `DDK_PATH` and `NPU_HOST_LIB` are set by the user of a sample,
/// the other variables by `set_env.sh`.
const LAYOUTS: &[Layout] = &[
    Layout {
        name: "fwkacllib",
        include: "$ENV{DDK_PATH}/fwkacllib/include",
        library: "$ENV{DDK_PATH}/fwkacllib/lib64/stub",
        links: "ascendcl stdc++",
    },
    Layout {
        name: "acllib",
        include: "$ENV{DDK_PATH}/acllib/include/",
        library: "$ENV{DDK_PATH}/acllib/lib64/stub/",
        links: "ascendcl stdc++",
    },
    Layout {
        name: "ddk_path",
        include: "$ENV{DDK_PATH}/runtime/include",
        library: "$ENV{NPU_HOST_LIB}",
        links: "ascendcl stdc++ pthread rt dl",
    },
    Layout {
        name: "latest",
        include: "$ENV{DDK_PATH}/latest/runtime/include",
        library: "$ENV{DDK_PATH}/latest/runtime/lib64/stub",
        links: "ascendcl",
    },
    Layout {
        name: "compiler",
        include: "$ENV{ASCEND_HOME_PATH}/compiler/include",
        library: "$ENV{ASCEND_HOME_PATH}/compiler/lib64/stub",
        links: "ascendcl",
    },
    Layout {
        name: "processor",
        include: "$ENV{ASCEND_TOOLKIT_HOME}/${CMAKE_SYSTEM_PROCESSOR}-linux/include",
        library: "$ENV{ASCEND_TOOLKIT_HOME}/${CMAKE_SYSTEM_PROCESSOR}-linux/devlib",
        links: "ascendcl",
    },
    Layout {
        name: "processor_lib64",
        include: "$ENV{ASCEND_TOOLKIT_HOME}/${CMAKE_SYSTEM_PROCESSOR}-linux/include",
        library: "$ENV{ASCEND_TOOLKIT_HOME}/${CMAKE_SYSTEM_PROCESSOR}-linux/lib64",
        links: "ascendcl runtime",
    },
    Layout {
        name: "toolkit_home",
        include: "$ENV{ASCEND_TOOLKIT_HOME}/include",
        library: "$ENV{ASCEND_TOOLKIT_HOME}/lib64/stub",
        links: "ascendcl",
    },
    Layout {
        name: "home_path",
        include: "$ENV{ASCEND_HOME_PATH}/include",
        library: "$ENV{ASCEND_HOME_PATH}/lib64",
        links: "ascendcl",
    },
    Layout {
        name: "library_of_runtime",
        include: "$ENV{ASCEND_HOME_PATH}/include",
        library: "$ENV{ASCEND_HOME_PATH}/lib64",
        links: "acl_rt",
    },
];

/// The layout of llama.cpp, whose CMake file names only `lib64` for libraries of the operator interface and of the
/// compilation of operators.
const OPERATORS: Layout = Layout {
    name: "operators",
    include: "$ENV{ASCEND_TOOLKIT_HOME}/include $ENV{ASCEND_TOOLKIT_HOME}/include/aclnn \
              $ENV{ASCEND_TOOLKIT_HOME}/acllib/include",
    library: "$ENV{ASCEND_TOOLKIT_HOME}/lib64",
    links: "ascendcl nnopbase opapi acl_op_compiler",
};

/// A program, the layouts in which it is built, the options for its run, and words that it prints at its end.
struct Program {
    source: &'static str,
    layouts: &'static [Layout],
    options: &'static str,
    end: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program { source: "examples/clients/cmake/transfer.cpp", layouts: LAYOUTS, options: "", end: "chunks of" },
    Program {
        source: "xtask/src/sample_layouts_operator.cpp",
        layouts: &[OPERATORS],
        options: "--with-stubs --with-aclnn",
        end: "sums of",
    },
];

/// Builds and runs the programs in every layout, against the installation in `prefix`.
pub fn check(prefix: &Path, directory: &Path) -> Result<()> {
    let count: usize = PROGRAMS.iter().map(|program| program.layouts.len()).sum();
    let names: BTreeSet<&str> = PROGRAMS.iter().flat_map(|program| program.layouts).map(|layout| layout.name).collect();
    ensure!(names.len() == count, "two layouts have the same name");
    let project = directory.join("samples");
    fs::create_dir_all(&project)?;
    let mut root = "cmake_minimum_required(VERSION 3.5.1)\nproject(samples LANGUAGES CXX)\n".to_owned();
    let mut runs = String::new();
    for Program { source, layouts, options, .. } in &PROGRAMS {
        let source = workspace::root().join(source);
        for layout in *layouts {
            writeln!(root, "add_subdirectory({})", layout.name)?;
            fs::create_dir_all(project.join(layout.name))?;
            fs::write(project.join(layout.name).join("CMakeLists.txt"), layout.cmake(&source))?;
            writeln!(runs, "softacl run {options} -- {0}/{0}", layout.name)?;
        }
    }
    fs::write(project.join("CMakeLists.txt"), root)?;
    let script = format!(
        "set -e; source {prefix}/set_env.sh\n\
         export DDK_PATH={prefix} NPU_HOST_LIB={prefix}/runtime/lib64/stub\n\
         cmake -Wno-deprecated -S {project} -B {project}/build >/dev/null\n\
         cmake --build {project}/build >/dev/null\n\
         cd {project}/build\n{runs}",
        prefix = prefix.display(),
        project = project.display(),
    );
    let path = format!("{}:{}", python::cmake()?.display(), std::env::var("PATH").unwrap_or_default());
    let done = Command::new("bash").args(["-c", &script]).env("PATH", path).output().context("starting bash")?;
    let (text, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let is_end = |line: &&str| PROGRAMS.iter().any(|program| line.contains(program.end));
    let passed = text.lines().filter(is_end).count();
    ensure!(done.status.success() && passed == count, "{passed} of {count} layouts of samples work:\n{text}{errors}");
    println!("{passed} layouts of samples build with CMake and run");
    Ok(())
}

impl Layout {
    /// The CMake file of one program, in the style of samples: directories for everything below the file.
    fn cmake(&self, source: &Path) -> String {
        let Layout { name, include, library, links } = self;
        format!(
            "add_compile_options(-std=c++11)\n\
             include_directories({include})\n\
             link_directories({library})\n\
             add_executable({name} {source})\n\
             target_link_libraries({name} {links})\n",
            source = source.display()
        )
    }
}
