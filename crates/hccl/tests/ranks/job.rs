//! Jobs: ranks as threads of one process or as processes, started by a test. Every job has separate processes, because a
//! process has one schedule.

use crate::api::{self, HcclCommDestroy, HcclCommInitRootInfo, HcclGetRootInfo, Pointer};
use crate::{failures, groups, joins, program, questions};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr::null_mut;
use std::{env, thread};

const CASE: &str = "HCCL_TEST_CASE";
const ROOT: &str = "HCCL_TEST_ROOT";
const ROOT_INFO: usize = 4108;

/// A job that a test starts.
pub struct Job {
    case: &'static str,
    ranks: u32,
    schedule: String,
    seed: u64,
    /// One process with all ranks, or one per rank.
    is_one_process: bool,
    variables: Vec<(&'static str, &'static str)>,
}

/// What a rank knows about its job.
pub struct Rank {
    pub rank: u32,
    pub ranks: u32,
    pub seed: u64,
    pub comm: Pointer,
}

impl Job {
    pub fn new(case: &'static str) -> Job {
        Job { case, ranks: 1, schedule: "threads".to_owned(), seed: 0, is_one_process: true, variables: Vec::new() }
    }

    pub fn ranks(self, ranks: u32) -> Job {
        Job { ranks, ..self }
    }

    pub fn schedule(self, schedule: &str) -> Job {
        Job { schedule: schedule.to_owned(), ..self }
    }

    pub fn seed(self, seed: u64) -> Job {
        Job { seed, ..self }
    }

    pub fn threads(self) -> Job {
        Job { is_one_process: true, ..self }
    }

    pub fn processes(self) -> Job {
        Job { is_one_process: false, ..self }
    }

    pub fn variable(mut self, name: &'static str, value: &'static str) -> Job {
        self.variables.push((name, value));
        self
    }

    /// Starts one process. Rank `None` is all ranks.
    fn start(&self, rank: Option<u32>, root: &str) -> Child {
        let place = rank.map_or("all".to_owned(), |rank| rank.to_string());
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["worker", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(CASE, format!("{} {} {place} {}", self.case, self.ranks, self.seed)).env(ROOT, root);
        command.env("HCCL_CONNECT_TIMEOUT", "60").env("HCCL_EXEC_TIMEOUT", "60");
        command.envs(self.variables.iter().copied());
        match self.schedule.as_str() {
            "threads" => command.env_remove("SOFTACL_SCHEDULE"),
            schedule => command.env("SOFTACL_SCHEDULE", schedule),
        };
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the job. Returns how each process ended, and what it printed.
    fn run(&self) -> Vec<(ExitStatus, String)> {
        let mut all = Vec::new();
        if self.is_one_process {
            all.push(self.start(None, ""));
        } else {
            let mut first = self.start(Some(0), "");
            // The first rank prints the root info, which the others get.
            let mut lines = BufReader::new(first.stdout.take().unwrap());
            let mut root = String::new();
            while !root.contains("root=") {
                root.clear();
                if lines.read_line(&mut root).unwrap() == 0 {
                    break;
                }
            }
            let root = root.split("root=").nth(1).unwrap_or_default().trim().to_owned();
            let rest = (1..self.ranks).map(|rank| self.start(Some(rank), &root)).collect::<Vec<_>>();
            // Empty the pipe, so that the process does not block.
            thread::spawn(move || lines.read_to_end(&mut Vec::new()));
            all.push(first);
            all.extend(rest);
        }
        let wait = |child: Child| {
            let output = child.wait_with_output().unwrap();
            let texts = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            (output.status, texts.concat())
        };
        // All at the same time: a process may wait until its output is read.
        let waiting: Vec<_> = all.into_iter().map(|child| thread::spawn(move || wait(child))).collect();
        waiting.into_iter().map(|one| one.join().unwrap()).collect()
    }

    fn name(&self) -> String {
        let how = if self.is_one_process { "threads" } else { "processes" };
        format!("{} with {} {how}, schedule {}, seed {}", self.case, self.ranks, self.schedule, self.seed)
    }

    pub fn expect_success(self) {
        for (rank, (status, text)) in self.run().iter().enumerate() {
            assert!(status.success(), "{}: process {rank} ended with {status}:\n{text}", self.name());
        }
    }

    /// One rank is killed, and the others succeed.
    pub fn expect_death_of_rank(self, dead: usize) {
        for (rank, (status, text)) in self.run().iter().enumerate() {
            assert_eq!(status.success(), rank != dead, "{}: process {rank} ended with {status}:\n{text}", self.name());
        }
    }
}

/// Runs the case of this process, if a test started it.
pub fn run_worker() {
    let Ok(case) = env::var(CASE) else { return };
    let words: Vec<&str> = case.split(' ').collect();
    let [case, ranks, place, seed] = words[..] else { panic!("{case}") };
    let (ranks, seed): (u32, u64) = (ranks.parse().unwrap(), seed.parse().unwrap());
    api::prepare();
    api::use_device(0);
    match case {
        "one-thread" => return program::one_thread(),
        "table" => return program::table(place.parse().unwrap(), ranks, seed),
        "grouped-joins" => return groups::joins(),
        "failed-join" => return joins::failed(),
        "foreign-root" => return joins::foreign(),
        _ => {}
    }
    let own = env::var(ROOT).unwrap();
    let root = if own.is_empty() { new_root() } else { decode(&own) };
    if place == "0" {
        println!("\nroot={}", root.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
    if case == "death-join" {
        return joins::death(place.parse().unwrap(), ranks, &root);
    }
    let run = |rank: u32| {
        api::use_device(0);
        let mut comm = null_mut();
        // SAFETY: the root info has its length, and the handle is written to a variable that lives during the call.
        api::check(unsafe { HcclCommInitRootInfo(ranks, root.as_ptr().cast(), rank, &raw mut comm) });
        let rank = Rank { rank, ranks, seed, comm };
        match case {
            "model" => program::model(&rank),
            "features" => program::features(&rank),
            "disagree" => failures::disagree(&rank),
            "death" => failures::death(&rank),
            "death-kinds" => failures::death_at(&rank),
            "absent" => failures::absent(&rank),
            "grouped-collectives" => groups::collectives(&rank),
            "questions" => questions::ask(&rank, &root),
            other => panic!("{other}"),
        }
        // SAFETY: a handle of this process.
        api::check(unsafe { HcclCommDestroy(comm) });
    };
    match place {
        "all" => thread::scope(|scope| {
            let all: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || run(rank))).collect();
            for one in all {
                one.join().expect("a rank failed");
            }
        }),
        rank => run(rank.parse().unwrap()),
    }
}

pub fn new_root() -> Vec<u8> {
    let mut root = vec![0; ROOT_INFO];
    // SAFETY: the root info has its length.
    api::check(unsafe { HcclGetRootInfo(root.as_mut_ptr().cast()) });
    root
}

fn decode(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}
