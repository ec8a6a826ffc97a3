//! Directives: the comment lines at the top of a conformance program that select products, schedules, sanitizers and
//! expected findings. `conformance/README.md` lists them.

use anyhow::{Result, bail, ensure};

/// All products, in the order of the runs.
pub const ALL_SOCS: [&str; 6] = ["Ascend910B", "Ascend910C", "Ascend950", "Ascend310P", "Ascend310B", "Ascend910A"];

/// The schedules that `schedules: all` adds to the default one.
const MORE_SCHEDULES: [&str; 4] = ["early", "late", "random:1", "random:2"];

/// Attachment of the chip: endpoint (EP), root complex (RC) or control CPU (CPU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Ep,
    Rc,
    Cpu,
}

impl Form {
    fn named(name: &str) -> Result<Form> {
        Ok(match name {
            "EP" => Form::Ep,
            "RC" => Form::Rc,
            "CPU" => Form::Cpu,
            _ => bail!("form: {name} is none of EP, RC and CPU"),
        })
    }

    /// The value of `SOFTACL_FORM`. `None` for the default.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            Form::Ep => None,
            Form::Rc => Some("RC"),
            Form::Cpu => Some("CPU"),
        }
    }
}

/// Parsed directives of one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directives {
    pub socs: Vec<String>,
    pub forms: Vec<Form>,
    pub environment: Vec<(String, String)>,
    pub all_schedules: bool,
    /// Tasks must run at the same time, which they do only on the default schedule.
    pub only_threads: bool,
    pub softacl_only: bool,
    pub no_sanitizer: bool,
    /// Skipped under ThreadSanitizer and in valgrind, which do not support the address space that the program reserves.
    pub only_address_sanitizer: bool,
    pub no_valgrind: bool,
    /// Feature that softacl lacks. The program is skipped unless it runs on a card.
    pub requires_feature: Option<String>,
    /// Findings that the program provokes. Under the checker, no others may be proven.
    pub expects: Vec<String>,
    /// Findings that the checker must prove on every schedule.
    pub must_find: Vec<String>,
    /// Findings of which the checker must count on every schedule that it could not judge something.
    pub must_count: Vec<String>,
    /// Libraries to link in addition to the runtime, without `lib` and `.so`.
    pub links: Vec<String>,
}

/// Schedules under the checker, in addition to random ones.
const CHECKED_SCHEDULES: [&str; 2] = ["early", "late"];

impl Directives {
    /// Values of `SOFTACL_SCHEDULE` to run with. `None` leaves the variable unset.
    pub fn schedules(&self) -> Vec<Option<String>> {
        let more = MORE_SCHEDULES.iter().filter(|_| self.all_schedules);
        std::iter::once(None).chain(more.map(|schedule| Some((*schedule).to_owned()))).collect()
    }

    /// Values of `SOFTACL_SCHEDULE` under the checker: `early`, `late` and `seeds` random schedules. None for a
    /// program on a virtual clock: a process is either checked or timed.
    pub fn checked_schedules(&self, seeds: u64) -> Vec<Option<String>> {
        if self.environment.iter().any(|(name, _)| name == "SOFTACL_TIMING") {
            return Vec::new();
        }
        if self.only_threads {
            return vec![Some("threads".to_owned())];
        }
        let seeds = (1..=seeds).map(|seed| format!("random:{seed}"));
        CHECKED_SCHEDULES.map(str::to_owned).into_iter().chain(seeds).map(Some).collect()
    }
}

/// Parses the `//` lines at the top of a program.
///
/// # Errors
///
/// Fails on an unknown directive, so that a typo cannot silently skip a run.
pub fn parse(text: &str) -> Result<Directives> {
    let socs = ALL_SOCS.map(String::from).to_vec();
    let mut directives = Directives { socs, forms: vec![Form::Ep], ..Directives::default() };
    for line in text.lines().take_while(|line| line.starts_with("//")) {
        let body = line.trim_start_matches('/').trim();
        let (key, value) = body.split_once(':').map_or((body, ""), |(key, value)| (key.trim(), value.trim()));
        match key {
            "soc" if value == "all" => directives.socs = ALL_SOCS.map(String::from).to_vec(),
            "soc" => {
                directives.socs = value.split_whitespace().map(String::from).collect();
                for soc in &directives.socs {
                    ensure!(ALL_SOCS.contains(&soc.as_str()), "unknown product {soc}");
                }
            }
            "form" => directives.forms = value.split_whitespace().map(Form::named).collect::<Result<_>>()?,
            "env" => {
                let Some((name, value)) = value.split_once('=') else {
                    bail!("env: NAME=VALUE expected, found {value:?}")
                };
                directives.environment.push((name.trim().into(), value.trim().into()));
            }
            "schedules" if value == "all" => directives.all_schedules = true,
            "schedules" if value == "threads" => directives.only_threads = true,
            "softacl-only" => directives.softacl_only = true,
            "requires-feature" => {
                ensure!(!value.is_empty(), "requires-feature: the missing feature expected");
                directives.requires_feature = Some(value.to_owned());
            }
            "expects" => directives.expects = finding_ids(key, value)?,
            "links" => directives.links = value.split_whitespace().map(String::from).collect(),
            "must-find" => directives.must_find = finding_ids(key, value)?,
            "must-count" => directives.must_count = finding_ids(key, value)?,
            "valgrind" if value.starts_with("none") => directives.no_valgrind = true,
            "sanitize" if value.starts_with("address") => directives.only_address_sanitizer = true,
            "sanitize" if value.starts_with("none") => directives.no_sanitizer = true,
            _ => bail!("unknown directive: {line}"),
        }
    }
    ensure!(!directives.socs.is_empty(), "soc: product names expected");
    ensure!(!directives.forms.is_empty(), "form: EP, RC or CPU expected");
    if directives.forms != [Form::Ep] {
        let boards = directives.socs.iter().all(|soc| soc == "Ascend310B" || soc == "Ascend310P");
        ensure!(boards, "form: RC and CPU require Ascend310B or Ascend310P");
    }
    Ok(directives)
}

fn finding_ids(directive: &str, value: &str) -> Result<Vec<String>> {
    ensure!(!value.is_empty(), "{directive}: finding ids expected, for example H1 M2");
    Ok(value.split_whitespace().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_on_a_virtual_clock_is_not_checked() {
        assert_eq!(parse("// env: SOFTACL_TIMING=1\n").unwrap().checked_schedules(2), []);
        assert_eq!(parse("// schedules: threads\n").unwrap().checked_schedules(2).len(), 1);
        assert_eq!(parse("// env: A=1\n").unwrap().checked_schedules(2).len(), 4);
    }

    #[test]
    fn program_without_directives_runs_on_all_products_and_one_schedule() {
        let directives = parse("/* a program */\n#include \"../expect.h\"\n").unwrap();
        assert_eq!(directives.socs, ALL_SOCS);
        assert_eq!(directives.schedules(), [None]);
        assert_eq!(directives.forms, [Form::Ep]);
    }

    #[test]
    fn all_directives_are_parsed() {
        let text = "// soc: Ascend310B Ascend310P\n// form: RC CPU\n// env: A=1\n// env: B=x=y\n// schedules: all\n\
                    // softacl-only\n// expects: M1 C2\n// must-find: H3\n// must-count: H1\n// requires-feature: operators\n\
                    // sanitize: none (crashes)\nint x;\n// soc: nonsense\n";
        let directives = parse(text).unwrap();
        assert_eq!(directives.socs, ["Ascend310B", "Ascend310P"]);
        assert_eq!(directives.forms, [Form::Rc, Form::Cpu]);
        assert_eq!(directives.environment, [("A".into(), "1".into()), ("B".into(), "x=y".into())]);
        assert_eq!(directives.schedules().len(), 5);
        assert!(directives.softacl_only && directives.no_sanitizer);
        assert_eq!(directives.expects, ["M1", "C2"]);
        assert_eq!(directives.must_find, ["H3"]);
        assert_eq!(directives.must_count, ["H1"]);
        assert_eq!(directives.requires_feature.as_deref(), Some("operators"));
    }

    #[test]
    fn invalid_directives_are_errors() {
        assert!(parse("// socs: all\n").is_err());
        assert!(parse("// soc: Ascend999\n").is_err());
        assert!(parse("// soc: all\n// form: RC\n").is_err());
        assert!(parse("// soc: Ascend310B\n// form: PC\n").is_err());
        assert!(parse("// env: NOVALUE\n").is_err());
        assert!(parse("// schedules: some\n").is_err());
        assert!(parse("// expects:\n").is_err());
        assert!(parse("// misuses: M1\n").is_err());
    }
}
