//! One case of the zoo: its `case.toml`, read and checked. Knows nothing of how programs run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::conformance;

/// Every finding that the checker can report. Each must have a case.
pub const FINDINGS: [&str; 27] = [
    "H1", "H2", "H3", "S1", "S2", "S3", "L1", "L2", "L3", "L4", "C1", "C2", "C3", "K1", "P1", "B1", "B2", "B3", "B4",
    "B5", "A1", "M1", "M2", "U1", "O1", "D1", "R1",
];

/// Schedules of the fixed program besides those drawn from seeds.
const SCHEDULES: [&str; 2] = ["early", "late"];

/// What a `case.toml` says, and where it was.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of the folder.
    pub id: String,
    pub title: String,
    pub language: Language,
    pub severity: Severity,
    /// What the checker must report for the buggy program under `late`, and nothing else.
    pub findings: Vec<Expected>,
    /// What it may report beside them, because one mistake has two names.
    #[serde(default)]
    pub also: BTreeSet<String>,
    /// What goes wrong, in a few sentences.
    pub story: String,
    /// A link to the pull request that it is modelled on, or `pattern`.
    pub real_life: String,
    /// What the buggy program finds under `early`.
    #[serde(default)]
    pub early: Verdict,
    /// What it finds under `late`.
    #[serde(default)]
    pub late: Verdict,
    /// Schedules of the fixed program, seeds apart.
    #[serde(default = "default_schedules")]
    pub schedules: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(skip)]
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    C,
    Python,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Proven,
    Advice,
    /// Chance decides how much a run shows.
    Either,
}

/// A finding that must be there: `"H1"`, or `{ id = "H1", count = 3 }`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    Any(String),
    Counted { id: String, count: u64 },
}

/// What a program says about its data: the first word of its last line that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    #[default]
    Right,
    Wrong,
    /// A matter of luck.
    Any,
}

/// The two programs of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    Buggy,
    Fixed,
}

impl Expected {
    pub fn id(&self) -> &str {
        match self {
            Expected::Any(id) | Expected::Counted { id, .. } => id,
        }
    }
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Proven => "proven",
            Severity::Advice => "advice",
            Severity::Either => "either",
        }
    }
}

impl Verdict {
    /// Reads the verdict out of what a program has printed.
    pub fn of(output: &str) -> Option<Verdict> {
        output.lines().rev().find_map(|line| match line.split_once(':')?.0 {
            "right" => Some(Verdict::Right),
            "wrong" => Some(Verdict::Wrong),
            _ => None,
        })
    }

    pub fn admits(self, found: Verdict) -> bool {
        self == Verdict::Any || self == found
    }
}

impl Twin {
    pub fn name(self) -> &'static str {
        match self {
            Twin::Buggy => "buggy",
            Twin::Fixed => "fixed",
        }
    }
}

impl Case {
    pub fn source(&self, twin: Twin) -> PathBuf {
        self.folder.join(format!("{}.{}", twin.name(), self.extension()))
    }

    pub fn extension(&self) -> &'static str {
        match self.language {
            Language::C => "c",
            Language::Python => "py",
        }
    }

    fn read(folder: &Path) -> Result<Case> {
        let path = folder.join("case.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut case: Case = toml::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
        folder.clone_into(&mut case.folder);
        case.check().with_context(|| format!("{} is not a good case", path.display()))?;
        Ok(case)
    }

    fn check(&self) -> Result<()> {
        ensure!(self.id == conformance::last_part(&self.folder), "its id is not the name of its folder");
        let first = self.findings.first().context("it expects no finding")?.id();
        ensure!(self.id.starts_with(&format!("{}-", first.to_lowercase())), "its name does not start with {first}");
        for id in self.findings.iter().map(Expected::id).chain(self.also.iter().map(String::as_str)) {
            ensure!(FINDINGS.contains(&id), "there is no finding {id:?}");
        }
        ensure!(
            self.real_life == "pattern" || self.real_life.starts_with("https://github.com/"),
            "real_life is neither a link nor \"pattern\""
        );
        for twin in [Twin::Buggy, Twin::Fixed] {
            ensure!(self.source(twin).is_file(), "there is no {}", self.source(twin).display());
        }
        Ok(())
    }
}

/// All cases below a folder, sorted by name, with at least one for every finding.
pub fn all(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for path in conformance::entries(folder)? {
        if path.is_dir() {
            cases.push(Case::read(&path)?);
        }
    }
    for id in FINDINGS {
        ensure!(cases.iter().any(|case| case.findings.iter().any(|f| f.id() == id)), "no case of the zoo shows {id}");
    }
    Ok(cases)
}

fn default_schedules() -> Vec<String> {
    SCHEDULES.map(str::to_owned).to_vec()
}
