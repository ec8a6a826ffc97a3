//! Cases of the zoo: reads and validates `case.toml`. Does not run programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::files::{entries, last_part};

/// Findings that the checker can report. Each must have a case.
pub const FINDINGS: [&str; 31] = [
    "H1", "H2", "H3", "S1", "S2", "S3", "L1", "L2", "L3", "L4", "C1", "C2", "C3", "K1", "P1", "B1", "B2", "B3", "B4",
    "B5", "A1", "A2", "M1", "M2", "U1", "O1", "D1", "R1", "W1", "W2", "I1",
];

/// Default schedules of the fixed program, in addition to random ones.
const SCHEDULES: [&str; 2] = ["early", "late"];

/// Contents and folder of a `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the folder.
    pub id: String,
    pub title: String,
    pub language: Language,
    pub severity: Severity,
    /// Exact findings for the buggy program under `late`.
    pub findings: Vec<Expected>,
    /// Findings that are also allowed, because one bug can match two.
    #[serde(default)]
    pub also: BTreeSet<String>,
    /// Description of the bug, in a few sentences.
    pub story: String,
    /// Link to the pull request that the case is modeled on, or `pattern`.
    pub real_life: String,
    /// Verdict of the buggy program under `early`.
    #[serde(default)]
    pub early: Verdict,
    /// Verdict of the buggy program under `late`.
    #[serde(default)]
    pub late: Verdict,
    /// Schedules of the fixed program, in addition to random ones.
    #[serde(default = "default_schedules")]
    pub schedules: Vec<String>,
    /// True if the buggy program hangs until the checker ends it. It then has no verdict, and runs only checked.
    #[serde(default)]
    pub hangs: bool,
    /// Seconds after which the checker stops the buggy program.
    pub timeout: Option<u64>,
    /// Libraries to link in addition to the runtime, without `lib` and `.so`.
    #[serde(default)]
    pub links: Vec<String>,
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
    /// Depends on timing.
    Either,
}

/// An expected finding: `"H1"`, or `{ id = "H1", count = 3 }`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    Any(String),
    Counted { id: String, count: u64 },
}

/// Verdict of a program on its data: `right:` or `wrong:` at the start of the last line that has either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    #[default]
    Right,
    Wrong,
    /// Depends on timing; both are accepted.
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
    /// Parses the verdict from the output of a program.
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
        case.check().with_context(|| format!("{} is invalid", path.display()))?;
        Ok(case)
    }

    fn check(&self) -> Result<()> {
        ensure!(self.id == last_part(&self.folder), "id is not the name of the folder");
        let first = self.findings.first().context("findings is empty")?.id();
        ensure!(
            self.id.starts_with(&format!("{}-", first.to_lowercase())),
            "id does not start with {first} in lower case"
        );
        for id in self.findings.iter().map(Expected::id).chain(self.also.iter().map(String::as_str)) {
            ensure!(FINDINGS.contains(&id), "finding {id:?} does not exist");
        }
        ensure!(
            self.real_life == "pattern" || self.real_life.starts_with("https://github.com/"),
            "real_life is neither a link nor \"pattern\""
        );
        for twin in [Twin::Buggy, Twin::Fixed] {
            ensure!(self.source(twin).is_file(), "{} does not exist", self.source(twin).display());
        }
        Ok(())
    }
}

/// Returns all cases in a folder, sorted by name. Fails if a finding has no case.
pub fn all(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for path in entries(folder)? {
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
