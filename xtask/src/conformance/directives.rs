//! The directives in the first lines of a conformance program.

use anyhow::{Result, bail, ensure};

/// Every product, in the order of the runs.
pub const ALL_SOCS: [&str; 6] = ["Ascend910B", "Ascend910C", "Ascend950", "Ascend310P", "Ascend310B", "Ascend910A"];

/// The schedules that `schedules: all` adds to the default one.
const MORE_SCHEDULES: [&str; 4] = ["early", "late", "random:1", "random:2"];

/// The form of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    #[default]
    Ep,
    Rc,
}

/// What a program asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directives {
    pub socs: Vec<String>,
    pub form: Form,
    pub environment: Vec<(String, String)>,
    pub all_schedules: bool,
    pub softacl_only: bool,
    pub no_sanitizer: bool,
    /// Neither with the thread sanitizer nor in valgrind, for which the program reserves too many addresses.
    pub only_address_sanitizer: bool,
    pub no_valgrind: bool,
    /// What the library does not have yet: the program is left out on softacl.
    pub awaits: Option<String>,
    /// Findings that the program provokes on purpose: no others may be proven when it is checked.
    pub misuses: Vec<String>,
    /// The same, and they must be proven on every schedule.
    pub finds: Vec<String>,
}

/// The schedules of a checked run.
const CHECKED_SCHEDULES: [&str; 2] = ["early", "late"];

impl Directives {
    /// The values of `SOFTACL_SCHEDULE` to run with; `None` leaves it unset.
    pub fn schedules(&self) -> Vec<Option<String>> {
        let more = MORE_SCHEDULES.iter().filter(|_| self.all_schedules);
        std::iter::once(None).chain(more.map(|schedule| Some((*schedule).to_owned()))).collect()
    }

    /// The schedules to run with under the checker.
    pub fn checked_schedules(seeds: u64) -> Vec<Option<String>> {
        let seeds = (1..=seeds).map(|seed| format!("random:{seed}"));
        CHECKED_SCHEDULES.map(str::to_owned).into_iter().chain(seeds).map(Some).collect()
    }
}

/// Reads the `//` lines at the top of a program. An unknown directive is an error, so that a typing mistake cannot
/// silently leave a run out.
pub fn parse(text: &str) -> Result<Directives> {
    let mut directives = Directives { socs: ALL_SOCS.map(String::from).to_vec(), ..Directives::default() };
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
            "form" if value == "RC" => directives.form = Form::Rc,
            "form" if value == "EP" => directives.form = Form::Ep,
            "env" => {
                let Some((name, value)) = value.split_once('=') else { bail!("env: NAME=VALUE expected, got {value}") };
                directives.environment.push((name.trim().into(), value.trim().into()));
            }
            "schedules" if value == "all" => directives.all_schedules = true,
            "softacl-only" => directives.softacl_only = true,
            "awaits" => {
                ensure!(!value.is_empty(), "awaits: say what is missing");
                directives.awaits = Some(value.to_owned());
            }
            "misuses" => {
                directives.misuses = value.split_whitespace().map(String::from).collect();
                ensure!(!directives.misuses.is_empty(), "misuses: name the findings");
            }
            "finds" => {
                directives.finds = value.split_whitespace().map(String::from).collect();
                ensure!(!directives.finds.is_empty(), "finds: name the findings");
            }
            "valgrind" if value.starts_with("none") => directives.no_valgrind = true,
            "sanitize" if value.starts_with("address") => directives.only_address_sanitizer = true,
            "sanitize" if value.starts_with("none") => directives.no_sanitizer = true,
            _ => bail!("unknown directive: {line}"),
        }
    }
    ensure!(!directives.socs.is_empty(), "no product");
    if directives.form == Form::Rc {
        let boards = directives.socs.iter().all(|soc| soc == "Ascend310B" || soc == "Ascend310P");
        ensure!(boards, "the RC form exists on Ascend310B and Ascend310P only");
    }
    Ok(directives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_all_products_in_one_schedule() {
        let directives = parse("/* a program */\n#include \"../expect.h\"\n").unwrap();
        assert_eq!(directives.socs, ALL_SOCS);
        assert_eq!(directives.schedules(), [None]);
        assert_eq!(directives.form, Form::Ep);
    }

    #[test]
    fn every_directive_is_read() {
        let text = "// soc: Ascend310B Ascend310P\n// form: RC\n// env: A=1\n// env: B=x=y\n// schedules: all\n\
                    // softacl-only\n// misuses: M1 C2\n// sanitize: none (dies on purpose)\nint x;\n// soc: nonsense\n";
        let directives = parse(text).unwrap();
        assert_eq!(directives.socs, ["Ascend310B", "Ascend310P"]);
        assert_eq!(directives.form, Form::Rc);
        assert_eq!(directives.environment, [("A".into(), "1".into()), ("B".into(), "x=y".into())]);
        assert_eq!(directives.schedules().len(), 5);
        assert!(directives.softacl_only && directives.no_sanitizer);
        assert_eq!(directives.misuses, ["M1", "C2"]);
    }

    #[test]
    fn mistakes_are_errors() {
        assert!(parse("// socs: all\n").is_err());
        assert!(parse("// soc: Ascend999\n").is_err());
        assert!(parse("// soc: all\n// form: RC\n").is_err());
        assert!(parse("// env: NOVALUE\n").is_err());
        assert!(parse("// schedules: some\n").is_err());
    }
}
