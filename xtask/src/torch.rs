//! `cargo xtask test-torch`: runs the unmodified `torch_npu` from PyPI on softacl, in a virtual environment.
//!
//! Not part of `cargo xtask test`: it downloads about 3 GB once.

use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// Python version of the pinned packages.
const PYTHON: &str = "3.11";
/// Schedules of the plain runs.
const SCHEDULES: [&str; 6] = ["threads", "early", "late", "random:1", "random:2", "random:3"];
/// Schedules of the runs under the checker.
const CHECKED_SCHEDULES: [&str; 4] = ["early", "late", "random:1", "random:2"];

const TESTS: &str = "python/torch/suite.py";
const COMPUTE: &str = "python/torch/compute.py";
const OPERATORS: &str = "python/torch/npu_operators.py";
const HABITS: &str = "python/torch/programs.py";
const SWEEP: &str = "python/torch/sweep.py";
const DISTRIBUTED: &str = "python/torch/distributed.py";
const OFFLOAD: &str = "examples/clients/pytorch/kv_offload.py";
const EXAMPLE: &str = "import torch, torch_npu; x = torch.arange(8.).to('npu'); print(x.cpu())";
const EXAMPLE_OUTPUT: &str = "tensor([0., 1., 2., 3., 4., 5., 6., 7.])";

/// The programs of `races.py`: a case, the finding that it must cause, and the calls that the report must locate.
const RACES: [(&str, &str, &[&str]); 5] = [
    ("offload", TWO_STREAMS, &["y = x * 2", "host.copy_(y, non_blocking=True)"]),
    ("onload", TWO_STREAMS, &["y.copy_(host, non_blocking=True)", "z = y + 1"]),
    ("reuse", TWO_STREAMS, &["again = torch.full_like(x, 3)"]),
    ("decode", TWO_STREAMS, &["cache[block].copy_(x", "saved[block].copy_(cache[block]"]),
    ("training", CHANGED_SOURCE, &["device = batch.to(", "batch.fill_(step)"]),
];
const TWO_STREAMS: &str = "PROVEN S1  two streams access the same bytes without an event path";
const CHANGED_SOURCE: &str = "PROVEN H1  source changed between submit and execution";

/// A part of the suite.
type Part = fn(&Suite) -> Result<()>;

/// The parts, by name.
const PARTS: [(&str, Part); 9] = [
    ("example", Suite::check_example),
    ("suite", Suite::check_suite),
    ("checked", Suite::check_with_checker),
    ("programs", Suite::check_programs),
    ("segments", Suite::check_segments),
    ("reuse", Suite::check_reuse),
    ("races", Suite::check_races),
    ("distributed", Suite::check_distributed),
    ("sweep", Suite::check_sweep),
];

/// Creates the environment and runs the PyTorch tests: all parts, or those whose name contains `filter`.
pub fn test(filter: Option<&str>) -> Result<()> {
    let is_chosen = |name: &str| filter.is_none_or(|text| name.contains(text));
    let parts: Vec<_> = PARTS.into_iter().filter(|(name, _)| is_chosen(name)).collect();
    ensure!(!parts.is_empty(), "no part of the PyTorch tests is named like that");
    let python = environment()?;
    let suite = Suite { softacl: workspace::build_library()?.join("softacl"), python };
    parts.into_iter().try_for_each(|(_, check)| check(&suite))
}

/// The `softacl` command and the interpreter with `torch_npu`.
struct Suite {
    softacl: PathBuf,
    python: PathBuf,
}

impl Suite {
    /// The example of the README, with `softacl run` and after `set_env.sh --stubs`.
    fn check_example(&self) -> Result<()> {
        check_output(&self.run("run", &[], &["-c", EXAMPLE])?, 0, EXAMPLE_OUTPUT)?;
        println!("README example passed");
        check_output(&self.in_shell()?, 0, EXAMPLE_OUTPUT)?;
        println!("README example after set_env.sh passed");
        Ok(())
    }

    fn check_suite(&self) -> Result<()> {
        for schedule in SCHEDULES {
            let options = ["--schedule", schedule];
            check_output(&self.run("run", &options, &[&path(TESTS)])?, 0, "tests passed")?;
            for tests in [COMPUTE, OPERATORS, HABITS] {
                check_output(&self.run("run", &options, &[&path(tests)])?, 0, "tests passed")?;
            }
            check_output(&self.run("run", &options, &[&path(OFFLOAD)])?, 0, "came back")?;
            println!("{schedule:<10} passed");
        }
        Ok(())
    }

    fn check_with_checker(&self) -> Result<()> {
        for schedule in CHECKED_SCHEDULES {
            let options = ["--schedule", schedule];
            for program in [TESTS, COMPUTE, OPERATORS, HABITS, OFFLOAD] {
                check_output(&self.run("check", &options, &[&path(program)])?, 0, "softacl check: 0 proven")?;
            }
            println!("{schedule:<10} checked, nothing proven");
        }
        Ok(())
    }

    fn check_programs(&self) -> Result<()> {
        for program in ["python/torch/refusal.py", "python/torch/processes.py"] {
            check_output(&self.run("run", &[], &[&path(program)])?, 0, "")?;
            println!("{program} passed");
        }
        Ok(())
    }

    fn check_segments(&self) -> Result<()> {
        let mut segments = self.command("run", &[], &[&path(TESTS)]);
        segments.env("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True");
        check_output(&finish(&mut segments)?, 0, "tests passed")?;
        println!("expandable segments passed");
        Ok(())
    }

    fn check_reuse(&self) -> Result<()> {
        let reuse = path("python/torch/early_reuse.py");
        let found = self.run("check", &[], &[&reuse])?;
        check_output(&found, 2, "PROVEN H1  source changed between submit and execution")?;
        check_output(&found, 2, "early_reuse.py:15 in <module>")?;
        check_output(&found, 2, "softacl check: 1 proven")?;
        check_output(&self.run("check", &[], &[&reuse, "wait"])?, 0, "softacl check: 0 proven")?;
        println!("early reuse of a pinned tensor is reported, and reuse after a wait is not");
        Ok(())
    }

    fn check_races(&self) -> Result<()> {
        let source = fs::read_to_string(workspace::root().join("python/torch/races.py"))?;
        for (case, finding, calls) in RACES {
            let races = path("python/torch/races.py");
            let found = self.run("check", &[], &[&races, case])?;
            check_output(&found, 2, finding)?;
            // The findings name the lines of the program, although a thread of torch_npu makes the calls.
            for call in calls {
                let line = source.lines().position(|line| line.contains(call)).context("a line of races.py")? + 1;
                check_output(&found, 2, &format!("races.py:{line} in"))?;
            }
            check_output(&self.run("check", &[], &[&races, case, "fixed"])?, 0, "softacl check: 0 proven")?;
            println!("{case}: the missing order is proven, and nothing with it");
        }
        Ok(())
    }

    /// DDP, FSDP and all collectives with 2 and 4 ranks, on one node and on two, and the loss of a rank.
    fn check_distributed(&self) -> Result<()> {
        for ranks in ["2", "4"] {
            let launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, &path(DISTRIBUTED)];
            let options = ["--devices", ranks];
            let passed = self.run("run", &options, &launch)?;
            check_output(&passed, 0, &format!("rank 0 of {ranks}: "))?;
            let lost = self.run("run", &options, &[launch.as_slice(), &["lost"]].concat())?;
            check_output(&lost, 0, "rank 0: the loss of a rank is an error")?;
            println!("{ranks} ranks passed");
        }
        // The launcher finds nodes and ranks in the variables that `--nodes` sets.
        let nodes = ["--nodes", "2", "--devices", "2"];
        let passed = self.run("run", &nodes, &["-m", "torch.distributed.run", &path(DISTRIBUTED)])?;
        check_output(&passed, 0, "node0 | rank 0 of 4: ")?;
        check_output(&passed, 0, "node1 | rank 3 of 4: ")?;
        println!("two nodes passed");
        Ok(())
    }

    /// The operators of PyTorch's OpInfo database against the CPU. Goes on where an interrupted run stopped; the files
    /// of a build are kept in a separate directory.
    fn check_sweep(&self) -> Result<()> {
        let output = workspace::target().join("torch-sweep").display().to_string();
        let runs: &[(&str, &str, &[&str])] = &[
            ("float32", "threads", &["--blocking"]),
            ("float32", "late", &[]),
            ("float32", "random:1", &[]),
            ("float32", "random:2", &[]),
            ("float32", "random:3", &[]),
            ("bfloat16", "late", &[]),
            ("float16", "late", &[]),
            ("int64", "late", &[]),
        ];
        for (number_type, schedule, mode) in runs {
            let mut words = vec![path(SWEEP), "run".into(), "--type".into(), (*number_type).into()];
            words.extend(["--output".into(), output.clone()]);
            words.extend(mode.iter().map(|word| (*word).to_owned()));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            workspace::run(&mut self.command("run", &["--schedule", schedule], &words))?;
        }
        let mut table = clean_command(&self.python);
        workspace::run(table.args([&path(SWEEP), "table", &output, "--check"]))
    }

    fn command(&self, how: &str, options: &[&str], words: &[&str]) -> Command {
        let mut command = clean_command(&self.softacl);
        command.arg(how).args(options).arg("--").arg(&self.python).args(words);
        command
    }

    fn run(&self, how: &str, options: &[&str], words: &[&str]) -> Result<(String, Output)> {
        finish(&mut self.command(how, options, words))
    }

    /// Runs the example in a shell that has sourced `set_env.sh --stubs` of the tree of this build.
    fn in_shell(&self) -> Result<(String, Output)> {
        let (_, found) = self.run("run", &[], &["-c", "import os; print(os.environ['ASCEND_HOME_PATH'], end='')"])?;
        let home = String::from_utf8(found.stdout)?;
        let mut shell = clean_command(Path::new("bash"));
        shell
            .args(["-c", "source \"$0/set_env.sh\" --stubs && \"$1\" -c \"$2\"", &home])
            .arg(&self.python)
            .arg(EXAMPLE);
        finish(&mut shell)
    }
}

/// A command without variables that change softacl, the toolkit, Python or PyTorch.
fn clean_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["SOFTACL_", "ASCEND_", "PYTHON", "PYTORCH_"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn finish(command: &mut Command) -> Result<(String, Output)> {
    let text = format!("{command:?}");
    let output = command.output().with_context(|| format!("starting {text}"))?;
    Ok((text, output))
}

/// Fails unless a program exited with `code` and its output contains `expected`.
fn check_output((command, output): &(String, Output), code: i32, expected: &str) -> Result<()> {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    ensure!(
        output.status.code() == Some(code) && text.contains(expected),
        "{command} ended with {}, expected exit code {code} and {expected:?}:\n{text}",
        output.status
    );
    Ok(())
}

fn path(file: &str) -> String {
    workspace::root().join(file).display().to_string()
}

/// Returns the interpreter of an environment with exactly the pinned packages. Creates the environment if it is missing
/// or out of date.
fn environment() -> Result<PathBuf> {
    let requirements = workspace::root().join("python/torch/requirements.txt");
    let pinned = fs::read_to_string(&requirements)?;
    let environment = workspace::target().join("torch-environment");
    let python = environment.join("bin/python");
    let installed = environment.join("softacl-requirements.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == pinned) {
        return Ok(python);
    }
    ensure!(cfg!(target_arch = "x86_64"), "the pinned packages require x86_64");
    let interpreter = interpreter()?;
    println!("installing torch and torch_npu into {} (about 3 GB to download, once)", environment.display());
    let start = Instant::now();
    workspace::run(Command::new(interpreter).args(["-m", "venv", "--clear"]).arg(&environment))?;
    workspace::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"])
            .arg("--requirement")
            .arg(&requirements),
    )?;
    fs::write(&installed, pinned)?;
    println!("installed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(python)
}

/// Returns an interpreter of version [`PYTHON`].
fn interpreter() -> Result<PathBuf> {
    let script = format!(
        "import sys; assert sys.version_info[:2] == ({}); print(sys.executable, end='')",
        PYTHON.replace('.', ", ")
    );
    for name in [format!("python{PYTHON}"), "python3".to_owned()] {
        let output = Command::new(&name).args(["-c", &script]).output();
        if let Ok(output) = output
            && output.status.success()
        {
            return Ok(Path::new(&String::from_utf8(output.stdout)?).to_owned());
        }
    }
    bail!("Python {PYTHON} was not found; the wheels of torch_npu require it")
}
