//! The settings file `softacl.toml`: defaults for options, of a project and of a user.
//!
//! An option wins over a variable, a variable over the file of the project, and that over the file of the user. Paths
//! in a file are relative to it. The library that a program loads does not read these files: the command passes what
//! they contain.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

/// Variable that names the only file to read; `none` for no file.
pub const VARIABLE: &str = "SOFTACL_CONFIG";
const NAME: &str = "softacl.toml";

/// The contents of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct SettingsFile {
    soc: Option<String>,
    form: Option<String>,
    cann: Option<String>,
    devices: Option<u32>,
    memory: Option<String>,
    host_memory: Option<String>,
    kernels: Vec<PathBuf>,
    strict: Vec<String>,
    /// Rules, or one `@FILE`.
    faults: Vec<String>,
    schedule: Option<String>,
    /// Files with findings to hide.
    suppressions: Vec<PathBuf>,
    #[serde(skip)]
    path: PathBuf,
}

/// All files that apply, the most specific first.
#[derive(Debug, Default)]
pub struct Settings(Vec<SettingsFile>);

/// Returns the settings of this user in this directory. They are read once.
pub fn settings() -> Result<&'static Settings> {
    static SETTINGS: OnceLock<std::result::Result<Settings, String>> = OnceLock::new();
    let read = || read(&paths()).map_err(|error| format!("{error:#}"));
    SETTINGS.get_or_init(read).as_ref().map_err(|error| anyhow::anyhow!("{error}"))
}

/// Returns the files that exist.
fn paths() -> Vec<PathBuf> {
    match env::var_os(VARIABLE) {
        Some(named) if named == "none" => return Vec::new(),
        Some(named) if !named.is_empty() => return vec![named.into()],
        _ => {}
    }
    let current = env::current_dir().unwrap_or_default();
    let project = current.ancestors().map(|directory| directory.join(NAME)).find(|path| path.is_file());
    let home = env::var_os("XDG_CONFIG_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".config")));
    let home = home.map(|home| home.join("softacl").join(NAME)).filter(|path| path.is_file());
    project.into_iter().chain(home).collect()
}

fn read(paths: &[PathBuf]) -> Result<Settings> {
    let mut files = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        let file: SettingsFile = toml::from_str(&text).with_context(|| path.display().to_string())?;
        files.push(SettingsFile { path: path.clone(), ..file });
    }
    Ok(Settings(files))
}

impl Settings {
    /// Returns the value of an option and the file that it comes from.
    pub fn value(&self, option: &str) -> Option<(String, &Path)> {
        self.0.iter().find_map(|file| Some((file.value(option)?, file.path.as_path())))
    }

    /// Returns the files with findings to hide, of all settings.
    pub fn suppressions(&self) -> Vec<PathBuf> {
        self.0.iter().flat_map(|file| file.suppressions.iter().map(|path| file.resolve(path))).collect()
    }

    /// Returns the files that were read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|file| file.path.as_path())
    }
}

impl SettingsFile {
    fn resolve(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    fn value(&self, option: &str) -> Option<String> {
        let list = |items: &[String], separator: &str| (!items.is_empty()).then(|| items.join(separator));
        match option {
            "--soc" => self.soc.clone(),
            "--form" => self.form.clone(),
            "--cann" => self.cann.clone(),
            "--devices" => self.devices.map(|count| count.to_string()),
            "--memory" => self.memory.clone(),
            "--host-memory" => self.host_memory.clone(),
            "--schedule" => self.schedule.clone(),
            "--strict" => list(&self.strict, ","),
            "--kernels" => {
                let paths: Vec<String> =
                    self.kernels.iter().map(|path| self.resolve(path).display().to_string()).collect();
                list(&paths, ":")
            }
            "--faults" => match &self.faults[..] {
                [file] if file.starts_with('@') => Some(format!("@{}", self.resolve(Path::new(&file[1..])).display())),
                rules => list(rules, ";"),
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn project_wins_over_home_and_paths_are_relative_to_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let project = file(
            directory.path(),
            "project.toml",
            "soc = \"910b\"\ndevices = 4\nstrict = [\"align\", \"peer\"]\nkernels = [\"k/one.so\"]\n\
             faults = [\"@bad.rules\"]\nsuppressions = [\"known.txt\"]\n",
        );
        let home =
            file(directory.path(), "home.toml", "soc = \"310P\"\nschedule = \"late\"\nsuppressions = [\"/all.txt\"]\n");
        let settings = read(&[project.clone(), home.clone()]).unwrap();
        let value = |option| settings.value(option).map(|(value, _)| value);
        let inside = |name: &str| directory.path().join(name).display().to_string();
        assert_eq!(settings.value("--soc"), Some(("910b".to_owned(), project.as_path())));
        assert_eq!(settings.value("--schedule"), Some(("late".to_owned(), home.as_path())));
        assert_eq!((value("--devices").as_deref(), value("--strict").as_deref()), (Some("4"), Some("align,peer")));
        assert_eq!(value("--kernels"), Some(inside("k/one.so")));
        assert_eq!(value("--faults"), Some(format!("@{}", inside("bad.rules"))));
        assert_eq!((value("--memory"), value("--json")), (None, None));
        assert_eq!(settings.suppressions(), [PathBuf::from(inside("known.txt")), "/all.txt".into()]);
    }

    #[test]
    fn unknown_keys_are_refused_with_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "softacl.toml", "chip = \"910B\"\n");
        let error = format!("{:#}", read(&[path]).unwrap_err());
        assert!(error.contains("softacl.toml") && error.contains("unknown field `chip`"), "{error}");
    }
}
