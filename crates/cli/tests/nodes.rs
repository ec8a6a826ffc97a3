//! Clusters on one machine: `softacl run --nodes` and `softacl exec`.

mod collectives;

use collectives::{output, program, softacl, text};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The sorted lines of a text.
fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

#[test]
fn ranks_of_two_nodes_reduce() {
    let (_directory, program) = program();
    let done = output(softacl(&["run", "--nodes", "2", "--devices", "2", "--ranks", "--"]).arg(&program).arg("table"));
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    assert_eq!(err, "", "this system permits namespaces");
    let expected = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .map(|(node, device)| format!("node{node}/{device} | rank {} of 4 on node{node}: sum 10", 2 * node + device));
    assert_eq!(sorted(&out), expected);
}

#[test]
fn networks_of_nodes_are_connected_and_separate_from_the_host() {
    let (_directory, program) = program();
    let done =
        output(softacl(&["run", "--nodes", "2", "--devices", "1", "--ranks", "--"]).arg(&program).arg("connect"));
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    assert!(out.contains("node0/0 | a word from 10.212."), "{out}");
    let script = "cat /etc/hccn.conf; hccn_tool -i 1 -ip -g; grep node1 /etc/hosts; echo $NODE_RANK $MASTER_ADDR $PET_NNODES {node}";
    let done = output(&mut softacl(&["run", "--nodes", "2", "--devices", "2", "--", "sh", "-c", script]));
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    let of_node = |node: &str| out.lines().filter_map(|line| line.strip_prefix(node)).collect::<Vec<_>>();
    assert_eq!(
        of_node("node1 | "),
        [
            "address_0=10.212.2.1",
            "netmask_0=255.255.0.0",
            "address_1=10.212.2.2",
            "netmask_1=255.255.0.0",
            "ipaddr:10.212.2.2",
            "netmask:255.255.0.0",
            "10.212.0.2 node1",
            "1 10.212.0.1 2 1"
        ]
    );
    assert_eq!(of_node("node0 | ").last(), Some(&"0 10.212.0.1 2 0"));
}

#[test]
fn nodes_without_namespaces_are_plain_processes_and_say_so() {
    let (_directory, program) = program();
    let limited = |limits: &[&str], names: [&str; 2]| {
        // A user namespace in which some namespaces cannot be made.
        let limits: Vec<String> =
            limits.iter().map(|kind| format!("echo 0 > /proc/sys/user/max_{kind}_namespaces;")).collect();
        let script = format!("{} exec \"$0\" \"$@\"", limits.concat());
        let softacl = env!("CARGO_BIN_EXE_softacl");
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", &script, softacl]);
        command.args(["run", "--nodes", "2", "--devices", "1", "--ranks", "--"]).arg(&program).arg("connect");
        let done = output(&mut command);
        let (out, err) = (text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "{out}{err}");
        for (node, name) in names.iter().enumerate() {
            let line = format!("node{node}/0 | rank {node} of 2 on {name}: sum 3");
            assert!(out.lines().any(|found| found == line), "{line}: {out}");
        }
        assert!(out.contains("a word from 127.0.0.1"), "{out}");
        assert_eq!(err.lines().count(), 1, "{err}");
        err
    };
    let err = limited(&["net"], ["node0", "node1"]);
    assert!(err.contains("the nodes have the network of this host, and own names and files"), "{err}");
    let host = host_name();
    let err = limited(&["net", "uts"], [&host, &host]);
    assert!(err.contains("the nodes are plain processes of this host: namespaces are not permitted"), "{err}");
}

#[test]
fn failing_rank_decides_the_exit_code_and_the_others_learn_it() {
    let (directory, program) = program();
    let logs = directory.path().join("logs");
    let mut command = softacl(&["run", "--nodes", "2", "--devices", "2", "--ranks", "--grace", "60", "--output"]);
    let done = output(command.arg(&logs).arg("--").arg(&program).arg("lose"));
    assert_eq!(done.status.code(), Some(7), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "");
    for file in ["node0-0.log", "node1-0.log", "node1-1.log"] {
        let log = fs::read_to_string(logs.join(file)).unwrap();
        assert!(log.contains("rank 1 has ended"), "{file}: {log}");
    }
    // Those that do not end by themselves are stopped.
    let script = "test {node} = 0 && exec sleep 1000; exit 3";
    let done = output(&mut softacl(&["run", "--nodes", "2", "--grace", "0", "--", "sh", "-c", script]));
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("node1 ended with 3; the others are stopped"), "{}", text(&done.stderr));
}

/// A process that ended is not there, or waits to be reaped.
fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Starts two nodes that wait. Returns the launcher and the processes of the nodes.
fn waiting(program: &Path) -> (Child, Vec<String>) {
    let mut command = softacl(&["run", "--nodes", "2", "--"]);
    // A launcher that is killed leaves its files, which then end with those of the test.
    command.env("TMPDIR", program.parent().unwrap());
    let mut launcher = command.arg(program).arg("wait").stdout(Stdio::piped()).spawn().expect("softacl starts");
    let lines = BufReader::new(launcher.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ready = lines.filter_map(|line| Some(line.split_once(" | ready ")?.1.to_owned()));
    let processes: Vec<String> = ready.take(4).collect();
    assert_eq!(processes.len(), 4);
    (launcher, processes)
}

#[test]
fn interrupt_ends_all_nodes_and_what_they_started() {
    let (_directory, program) = program();
    for (signal, code) in [(libc::SIGINT, Some(130)), (libc::SIGTERM, Some(143)), (libc::SIGKILL, None)] {
        let (mut launcher, processes) = waiting(&program);
        assert!(processes.iter().all(|process| is_running(process)));
        // SAFETY: no pointers; the launcher is not reaped yet.
        unsafe { libc::kill(launcher.id().cast_signed(), signal) };
        assert_eq!(launcher.wait().unwrap().code(), code);
        if code.is_some() {
            assert!(!processes.iter().any(|process| is_running(process)), "{processes:?}");
        } else {
            // Without a launcher, the processes that it started end; what those have started outlives it.
            let begin = Instant::now();
            while processes.iter().filter(|process| is_running(process)).count() > 2 {
                assert!(begin.elapsed() < Duration::from_secs(60), "{processes:?}");
                thread::yield_now();
            }
            for process in &processes {
                // SAFETY: no pointers; these are processes of this test.
                unsafe { libc::kill(process.parse().unwrap(), libc::SIGKILL) };
            }
        }
    }
}

#[test]
fn exec_runs_a_command_on_a_node() {
    let (_directory, program) = program();
    let (mut launcher, _) = waiting(&program);
    let cluster = launcher.id().to_string();
    let script =
        "cat /proc/sys/kernel/hostname; echo $SOFTACL_NODE $NODE_RANK; grep address_0 /etc/hccn.conf; pwd; exit 9";
    let exec = |node: &str| output(&mut softacl(&["exec", "--cluster", &cluster, node, "--", "sh", "-c", script]));
    let done = exec("node1");
    let here = std::env::current_dir().unwrap();
    let expected = format!("node1\nnode1 1\naddress_0=10.212.2.1\n{}\n", here.display());
    assert_eq!((text(&done.stdout), done.status.code()), (expected, Some(9)), "{}", text(&done.stderr));
    let done = exec("node7");
    assert!(text(&done.stderr).contains("there is no node node7; there are node0, node1"), "{}", text(&done.stderr));
    // SAFETY: no pointers; the launcher is not reaped yet.
    unsafe { libc::kill(launcher.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(launcher.wait().unwrap().code(), Some(143));
    let done = exec("node1");
    assert!(text(&done.stderr).contains("no node runs"), "{}", text(&done.stderr));
}

#[test]
fn wrong_uses_are_refused() {
    for arguments in [
        &["run", "--ranks", "--", "true"][..],
        &["run", "--nodes", "0", "--", "true"],
        &["run", "--nodes", "65", "--", "true"],
        &["run", "--nodes", "2"],
        &["run", "--nodes", "2", "--timing", "--", "true"],
        &["run", "--nodes", "2", "--", "/does/not/exist"],
        &["exec", "node0"],
    ] {
        let done = output(&mut softacl(arguments));
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {}", text(&done.stderr));
    }
}
