//! The tree, the variables and the files that a program finds under `softacl run`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn softacl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SOFTACL_") || text.starts_with("ASCEND_") {
            command.env_remove(&name);
        }
    }
    command.args(arguments);
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Root of the tree of this build.
fn home() -> PathBuf {
    let done = output(&mut softacl(&["run", "--", "sh", "-c", "printf %s \"$ASCEND_HOME_PATH\""]));
    PathBuf::from(text(&done.stdout))
}

#[test]
fn run_sets_every_variable_of_the_list() {
    let done =
        output(softacl(&["run", "--with-stubs", "--with-aclnn", "--", "env", "-0"]).env("PATH", "/usr/bin:/bin"));
    let variables = text(&done.stdout);
    let variables: BTreeMap<&str, &str> = variables.split('\0').filter_map(|line| line.split_once('=')).collect();
    let home = PathBuf::from(variables["ASCEND_HOME_PATH"]);
    let options = softacl_toolkit::Options { stubs: true, aclnn: true };
    let expected = softacl_toolkit::environment(&home, options).expect("paths without colons");
    assert!(expected.len() >= 7, "{expected:?}");
    for (name, value) in expected {
        let first = |text: &str| text.split(':').next().map(PathBuf::from);
        let found = variables.get(name).unwrap_or_else(|| panic!("{name} is not set"));
        assert_eq!(first(found), first(&value.to_string_lossy()), "{name}");
        assert!(first(found).is_some_and(|path| path.is_dir()), "{name} leads to no directory: {found}");
    }
    // torch_npu refuses a toolkit without these.
    assert!(home.join("runtime").is_dir() && Path::new(variables["ASCEND_OPP_PATH"]).is_dir());
    let libraries: Vec<&str> = variables["LD_LIBRARY_PATH"].split(':').take(3).collect();
    assert!(libraries[1].ends_with("stubs/lib64") && libraries[2].ends_with("aclnn/lib64"), "{libraries:?}");
}

#[test]
fn tree_of_a_run_is_that_of_an_installation() {
    let home = home();
    for path in [
        "include/acl/acl.h",
        "runtime/include/acl/acl.h",
        "acllib/include/acl/acl.h",
        "lib64/libascendcl.so",
        "runtime/lib64/libascendcl.so",
        "lib64/stub/libascendcl.so",
        "runtime/lib64/stub/libascendcl.so",
        "latest/include/acl/acl_rt.h",
        "compiler/version.info",
        "driver/version.info",
        "version.cfg",
        "opp/built-in",
        "set_env.sh",
        "bin/npu-smi",
        "bin/hccn_tool",
    ] {
        assert!(home.join(path).exists(), "{path} is missing in {}", home.display());
    }
    let version = fs::read_to_string(home.join("compiler/version.info")).expect("text");
    assert!(version.starts_with("Version=9."), "{version}");
}

#[test]
fn program_linked_with_all_names_gets_one_engine() {
    let home = home();
    let directory = tempfile::tempdir().expect("a directory");
    // As the vendor's libraries: each name is the soname of a separate file.
    let names: Vec<&str> = softacl_stubs::NAMES.iter().map(|library| library.name).collect();
    for library in softacl_stubs::NAMES {
        fs::write(directory.path().join(library.name), library.bytes).expect("a file");
    }
    let program = directory.path().join("one_engine");
    let mut link = Command::new("cc");
    link.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_engine.c")).arg("-o").arg(&program);
    link.arg("-Wl,--no-as-needed").arg("-L").arg(directory.path());
    link.args(names.iter().map(|name| format!("-l:{name}")));
    link.arg(format!("-L{}", home.join("lib64").display())).args(["-lascendcl", "-ldl", "-Wl,--allow-shlib-undefined"]);
    let linked = link.output().expect("cc starts");
    assert!(linked.status.success(), "{}", text(&linked.stderr));
    let needed = Command::new("readelf").args(["--wide", "--dynamic"]).arg(&program).output().expect("readelf starts");
    for name in &names {
        assert!(text(&needed.stdout).contains(&format!("[{name}]")), "{name} is not needed");
    }
    let run = |libraries: &Path| {
        let mut run = Command::new(&program);
        run.env("LD_LIBRARY_PATH", libraries).args(&names).arg("libascendcl.so");
        let done = run.output().expect("the program starts");
        assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
        assert_eq!(text(&done.stdout), format!("0 of {} names differ\n", names.len() + 1));
    };
    run(&home.join("lib64"));
    // A wheel has no links: there the names are files that need the library.
    fs::copy(home.join("lib64/libascendcl.so"), directory.path().join("libascendcl.so")).expect("a copy");
    run(directory.path());
}

#[test]
fn every_name_can_be_linked_alone() {
    let home = home();
    let directory = tempfile::tempdir().expect("a directory");
    let source = directory.path().join("main.c");
    fs::write(&source, "int aclrtSetDevice(int);\nint main(void) { return aclrtSetDevice(0); }\n").expect("a file");
    // A library without functions comes with the one that has them.
    let names = softacl_stubs::NAMES.iter().map(|library| (library.name, None));
    for (file, more) in names.chain(softacl_stubs::EMPTY.iter().map(|library| (library.name, Some("-lascendcl")))) {
        for libraries in ["lib64", "runtime/lib64/stub"] {
            let program = directory.path().join("program");
            let name = file.trim_start_matches("lib").trim_end_matches(".so");
            let mut link = Command::new("cc");
            link.arg(&source).arg("-o").arg(&program).arg("-Wl,--no-as-needed").arg("-L").arg(home.join(libraries));
            link.arg(format!("-l{name}")).args(more);
            let linked = link.arg("-Wl,--allow-shlib-undefined").output().expect("cc starts");
            assert!(linked.status.success(), "{}", text(&linked.stderr));
            let done = Command::new(&program).env("LD_LIBRARY_PATH", home.join("lib64")).status().expect("it starts");
            assert!(done.success(), "{name} in {libraries}: {done}");
        }
    }
}

/// The line of ggml's CMake file, the words of vllm-ascend's setup script, and what collect_env scripts run.
#[test]
fn tools_print_what_build_scripts_read() {
    let run = |soc: &str, script: &str| {
        text(&output(&mut softacl(&["run", "--soc", soc, "--devices", "3", "--", "sh", "-c", script])).stdout)
    };
    assert_eq!(run("Ascend910B3", "npu-smi info|awk -F' ' 'NF > 0 && NR==7 {print $3}'"), "910B3\n");
    let list = run("Ascend910B3", "npu-smi info -l");
    assert_eq!(list.trim().lines().nth(2).and_then(|line| line.split(':').nth(1)).map(str::trim), Some("0"));
    let board = run("Ascend910B3", "npu-smi info -t board -i 0 -c 0");
    assert!(board.contains("Chip Type                      : Ascend\n"), "{board}");
    assert!(board.contains("Chip Name                      : 910B3\n") && !board.contains("NPU Name"), "{board}");
    let board = run("Ascend910_9392", "npu-smi info -t board -i 2 -c 0");
    assert!(board.contains("Chip Name                      : Ascend910\n"), "{board}");
    assert!(board.contains("NPU Name                       : 9392\n") && !board.contains("Chip Type"), "{board}");
    let missing = output(&mut softacl(&["run", "--devices", "3", "--", "npu-smi", "info", "-t", "board", "-i", "3"]));
    assert!(!missing.status.success() && text(&missing.stderr).contains("NPU 3"), "{}", text(&missing.stderr));
    assert_eq!(run("Ascend910B3", "hccn_tool -i 1 -ip -g"), "ipaddr:127.16.0.2\nnetmask:255.255.0.0\n");
    let other = output(&mut softacl(&["run", "--", "hccn_tool", "-i", "0", "-tls", "-s"]));
    assert!(!other.status.success() && text(&other.stderr).contains("-ip -g"), "{}", text(&other.stderr));
}

/// Returns `true` if this host permits private mount namespaces; otherwise prints why the test does nothing.
fn has_namespaces() -> bool {
    let works = |options: &[&str]| {
        let done = Command::new("unshare").args(options).arg("true").output();
        done.is_ok_and(|done| done.status.success())
    };
    let permitted = works(&["--mount"]) || works(&["--user", "--mount"]);
    if !permitted {
        eprintln!("skipped: this host does not permit private mount namespaces");
    }
    permitted
}

#[test]
fn host_files_are_visible_to_the_program_only() {
    if !has_namespaces() {
        return;
    }
    let places = "/usr/local/Ascend/driver/version.info /etc/ascend_install.info /etc/hccn.conf";
    // On a host with a card, some of the files exist.
    let system = || {
        let listed = output(Command::new("sh").args(["-c", "ls -la /etc /usr/local /usr/local/sbin"])).stdout;
        let contents: Vec<_> = places.split(' ').map(|place| fs::read(place).ok()).collect();
        (text(&listed), contents)
    };
    let before = system();
    let script = format!(
        "set -e; cat {places}; /usr/local/sbin/npu-smi info -l; /usr/local/Ascend/driver/tools/hccn_tool -i 2 -ip -g; \
         test -e /usr/local/Ascend/ascend-toolkit/latest/lib64/libascendcl.so; ls -a /etc; cat /etc/passwd; pwd"
    );
    let mut run = softacl(&["run", "--host-files", "--devices", "3", "--cann", "8.5", "--", "sh", "-c", &script]);
    let done = output(run.current_dir("/usr/local"));
    let shown = text(&done.stdout);
    assert!(done.status.success(), "{shown}{}", text(&done.stderr));
    for expected in ["Version=8.5.0", "Driver_Install_Path_Param=/usr/local/Ascend", "address_2=127.16.0.3\n", "NPU ID"]
    {
        assert!(shown.contains(expected), "{expected} is missing:\n{shown}");
    }
    assert!(!shown.contains("address_3") && shown.contains("ipaddr:127.16.0.3"), "{shown}");
    assert!(shown.contains(&fs::read_to_string("/etc/passwd").expect("text")), "the existing files are still there");
    for entry in fs::read_dir("/etc").expect("a directory") {
        let name = entry.expect("an entry").file_name();
        assert!(shown.contains(name.to_str().expect("a name")), "/etc/{} disappeared", name.to_string_lossy());
    }
    assert!(shown.ends_with("/usr/local\n"), "{shown}");
    assert_eq!(system(), before, "the system was changed");
}

#[test]
fn missing_permission_for_host_files_is_one_sentence() {
    // Inside a user namespace that forbids further ones, nothing can be unshared.
    let script = "echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$0\" run --host-files -- echo started";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, env!("CARGO_BIN_EXE_softacl")]);
    let done = output(&mut command);
    if !has_namespaces() || text(&done.stderr).contains("max_mnt_namespaces") {
        eprintln!("skipped: this host does not permit user namespaces with limits");
        return;
    }
    let error = text(&done.stderr);
    assert!(!done.status.success() && done.stdout.is_empty(), "{error}");
    assert!(error.contains("does not permit; run without it") && error.trim().lines().count() == 1, "{error}");
}
