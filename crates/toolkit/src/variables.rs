//! Environment variables of a toolkit: one list, from which `set_env.sh` and `softacl run` are made.

use crate::places::{ACLNN_LIBRARIES, LIBRARIES, LINKED_LIBRARIES, STUB_LIBRARIES};
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A variable that a program or a build expects to be set.
#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    pub value: Value,
    /// Programs and documents that read it.
    pub readers: &'static str,
}

/// The value of a variable. Paths are relative to the root of the tree.
#[derive(Debug)]
pub enum Value {
    Path(&'static str),
    /// Directories before the existing value, each with its condition.
    Prepended(&'static [(When, &'static str)]),
}

/// When a directory is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// Stubs of other vendor libraries were requested.
    Stubs,
    /// The libraries of the operator interface were requested.
    Aclnn,
}

/// Optional parts of the environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    pub stubs: bool,
    pub aclnn: bool,
}

impl Options {
    fn includes(self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Stubs => self.stubs,
            When::Aclnn => self.aclnn,
        }
    }
}

/// Arguments of `set_env.sh`, by condition.
pub const SCRIPT_OPTIONS: [(When, &str); 2] = [(When::Stubs, "--stubs"), (When::Aclnn, "--aclnn")];

/// All variables, in the order in which `set_env.sh` sets them.
pub static VARIABLES: &[Variable] = &[
    Variable {
        name: "ASCEND_TOOLKIT_HOME",
        value: Value::Path(""),
        readers: "llama.cpp, Mooncake, the crate cann, build scripts of samples",
    },
    Variable { name: "ASCEND_HOME_PATH", value: Value::Path(""), readers: "torch_npu, vllm-ascend, triton-ascend" },
    Variable { name: "ASCEND_AICPU_PATH", value: Value::Path(""), readers: "MindSpore, the graph engine" },
    Variable { name: "ASCEND_OPP_PATH", value: Value::Path("opp"), readers: "torch_npu, MindSpore" },
    Variable { name: "TOOLCHAIN_HOME", value: Value::Path("toolkit"), readers: "build scripts of kernels" },
    Variable {
        name: "LD_LIBRARY_PATH",
        value: Value::Prepended(&[
            (When::Always, LIBRARIES),
            (When::Stubs, STUB_LIBRARIES),
            (When::Aclnn, ACLNN_LIBRARIES),
        ]),
        readers: "the loader",
    },
    // Builds name only lib64. There, the loader would find the operator interface, too, and torch_npu would prefer it.
    Variable {
        name: "LIBRARY_PATH",
        value: Value::Prepended(&[(When::Always, LINKED_LIBRARIES)]),
        readers: "gcc and clang, after every -L: llama.cpp links nnopbase, opapi and acl_op_compiler from lib64",
    },
    Variable {
        name: "PYTHONPATH",
        value: Value::Prepended(&[(When::Always, "python/site-packages")]),
        readers: "Python, for the module acl and the kernels of torch_npu",
    },
    Variable { name: "PATH", value: Value::Prepended(&[(When::Always, "bin")]), readers: "shells, detection code" },
];

/// Returns the variables of a program that uses the tree in `home`. Directories that do not exist are not added.
pub fn environment(home: &Path, options: Options) -> Result<Vec<(&'static str, OsString)>, env::JoinPathsError> {
    let mut all = Vec::new();
    for variable in VARIABLES {
        let value = match variable.value {
            Value::Path(path) => at(home, path).into_os_string(),
            Value::Prepended(paths) => {
                let added = paths.iter().filter(|(when, _)| options.includes(*when)).map(|(_, path)| home.join(path));
                let added: Vec<PathBuf> = added.filter(|path| path.is_dir()).collect();
                if added.is_empty() {
                    continue;
                }
                let existing = env::var_os(variable.name).unwrap_or_default();
                let existing = env::split_paths(&existing).filter(|path| *path != PathBuf::new());
                env::join_paths(added.into_iter().chain(existing))?
            }
        };
        all.push((variable.name, value));
    }
    Ok(all)
}

fn at(home: &Path, path: &str) -> PathBuf {
    if path.is_empty() { home.to_owned() } else { home.join(path) }
}

/// Returns `set_env.sh`. It locates itself in bash and zsh, so that the tree can be moved. Other shells use `home`.
pub fn script(home: &Path) -> String {
    let mut text = HEAD.replace("@HOME@", &home.display().to_string());
    for (when, option) in SCRIPT_OPTIONS {
        let flag = flag(when);
        writeln!(text, "case \" $* \" in *' {option} '*) {flag}=1 ;; *) {flag}= ;; esac").expect(IN_MEMORY);
    }
    for Variable { name, value, .. } in VARIABLES {
        let value = match value {
            Value::Path("") => "$_softacl_home".to_owned(),
            Value::Path(path) => format!("$_softacl_home/{path}"),
            Value::Prepended(paths) => {
                let joined: String = paths.iter().map(|(when, path)| part(*when, path)).collect();
                format!("{}${{{name}:+:${name}}}", joined.trim_start_matches(':'))
            }
        };
        writeln!(text, "export {name}=\"{value}\"").expect(IN_MEMORY);
    }
    let flags: String = SCRIPT_OPTIONS.iter().map(|(when, _)| format!(" {}", flag(*when))).collect();
    writeln!(text, "unset _softacl_home{flags}").expect(IN_MEMORY);
    text
}

const IN_MEMORY: &str = "writing to a String cannot fail";

const HEAD: &str = r#"# Source this file to use softacl as the Ascend toolkit.
#   --stubs   also provide stubs of other vendor libraries; programs such as torch_npu need them to load
#   --aclnn   also provide libopapi.so and libnnopbase.so, the operator interface
if [ -n "${BASH_VERSION:-}" ]; then
  eval '_softacl_home="${BASH_SOURCE[0]}"'
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_softacl_home="${(%):-%x}"'
else
  _softacl_home='@HOME@/set_env.sh'
fi
_softacl_home="$(dirname "$(readlink -f "$_softacl_home")")"
"#;

/// One directory of a list of paths in the script, with the colon before it.
fn part(when: When, path: &str) -> String {
    match when {
        When::Always => format!(":$_softacl_home/{path}"),
        _ => format!("${{{}:+:$_softacl_home/{path}}}", flag(when)),
    }
}

fn flag(when: When) -> &'static str {
    match when {
        When::Always => "",
        When::Stubs => "_softacl_stubs",
        When::Aclnn => "_softacl_aclnn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// Runs a shell with the script, and without variables of a toolkit, and returns its variables.
    fn sourced(shell: &[&str], home: &Path, arguments: &str) -> Vec<(String, String)> {
        let line = format!(". {}/set_env.sh {arguments}; env -0", home.display());
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(line).env_clear().env("PATH", "/usr/bin:/bin").env("LD_LIBRARY_PATH", "/mine");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        text.split('\0').filter_map(pair).collect()
    }

    #[test]
    fn script_sets_the_variables_of_a_run() {
        let home = env::temp_dir().join(format!("softacl-variables-{}", std::process::id()));
        for variable in VARIABLES {
            if let Value::Prepended(paths) = variable.value {
                paths.iter().for_each(|(_, path)| fs::create_dir_all(home.join(path)).unwrap());
            }
        }
        let home = fs::canonicalize(home).unwrap();
        fs::write(home.join("set_env.sh"), script(&home)).unwrap();
        for (arguments, options) in [
            ("", Options::default()),
            ("--stubs", Options { stubs: true, aclnn: false }),
            ("--aclnn --stubs", Options { stubs: true, aclnn: true }),
        ] {
            let variables = sourced(&["bash", "-c"], &home, arguments);
            for (name, value) in environment(&home, options).unwrap() {
                let found = variables.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
                let found = found.unwrap_or_else(|| panic!("{name} is not set by set_env.sh {arguments}"));
                // The existing values of the two processes differ, the directories in front of them do not.
                let added = |text: &str| {
                    let start = home.display().to_string();
                    let mine = text.split(':').filter(|path| path.starts_with(&start));
                    mine.map(str::to_owned).collect::<Vec<_>>()
                };
                assert_eq!(added(found), added(&value.to_string_lossy()), "{name} after set_env.sh {arguments}");
                assert!(!added(found).is_empty(), "{name}");
            }
            let path = |name: &str| variables.iter().find(|(given, _)| given == name).unwrap().1.clone();
            assert!(path("LD_LIBRARY_PATH").ends_with(":/mine") && path("PATH").ends_with(":/usr/bin:/bin"));
            assert!(!variables.iter().any(|(name, _)| name.starts_with("_softacl")), "{variables:?}");
        }
        // A shell that cannot locate the file uses the path of the installation.
        let variables = sourced(&["sh", "-c"], &home, "");
        assert!(variables.contains(&("ASCEND_HOME_PATH".to_owned(), home.display().to_string())), "{variables:?}");
        fs::remove_dir_all(&home).unwrap();
    }
}
