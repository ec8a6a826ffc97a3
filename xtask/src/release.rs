//! `cargo xtask release`: builds everything that is published, checks each part, and writes checksums. Uploads nothing;
//! RELEASING.md says what a maintainer does with the result.

use crate::install::{self, VERSION};
use crate::portable::{self, Portable};
use crate::{crates, deb, site, wheel, wheel_check, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds and checks a release into `output`.
pub fn run(output: &Path, skip_crates: bool) -> Result<()> {
    check_versions()?;
    fs::create_dir_all(output)?;
    let output = fs::canonicalize(output)?;
    for old in crate::files::entries(&output)?.into_iter().filter(|path| path.is_file()) {
        fs::remove_file(old)?;
    }
    println!("== programs and libraries for glibc 2.28");
    let products = portable::build()?;
    println!("== wheel");
    wheel_check::check(&wheel::build_portable(&products, &output)?)?;
    println!("== tarball");
    check_tarball(&tarball(&products, &output)?)?;
    println!("== Debian package");
    deb::check(&deb::build(&products, &output)?)?;
    if skip_crates {
        println!("== crates: skipped");
    } else {
        println!("== crates");
        let (directory, names) = crates::package(true)?;
        for name in names {
            let file = format!("{name}-{VERSION}.crate");
            fs::copy(directory.join(&file), output.join(&file)).with_context(|| format!("copying {file}"))?;
        }
    }
    println!("== site");
    site::build()?;
    println!("== checksums");
    checksums(&output)?;
    println!("softacl {VERSION} is in {}; RELEASING.md says how to publish it", output.display());
    Ok(())
}

/// Fails unless the changelog has a dated section for this version, and the Python package has the same version.
pub fn check_versions() -> Result<()> {
    let changelog = fs::read_to_string(workspace::root().join("CHANGELOG.md"))?;
    let heading = format!("## [{VERSION}] - ");
    let date = changelog.lines().find_map(|line| line.strip_prefix(&heading));
    let date = date.with_context(|| format!("CHANGELOG.md has no line {heading:?} with a date"))?;
    let is_date = date.len() == 10 && date.split('-').all(|part| part.parse::<u32>().is_ok());
    ensure!(is_date, "CHANGELOG.md: {date:?} is not a date");
    let package = fs::read_to_string(workspace::root().join("python/softacl/__init__.py"))?;
    ensure!(package.contains(&format!("__version__ = \"{VERSION}\"")), "python/softacl has another version");
    let manifest = fs::read_to_string(workspace::root().join("Cargo.toml"))?;
    for line in manifest.lines().filter(|line| line.contains("path = \"crates/") && line.contains("version")) {
        ensure!(line.contains(&format!("version = \"{VERSION}\"")), "Cargo.toml: {line:?} has another version");
    }
    Ok(())
}

/// Packs the tree of an installation, which can be unpacked anywhere.
fn tarball(products: &Portable, output: &Path) -> Result<PathBuf> {
    let name = format!("softacl-{VERSION}-{}-linux-gnu", products.arch);
    let parent = workspace::target().join("tarball-stage");
    install::stage(&parent.join(&name), &Path::new("/opt").join(&name), &products.directory)?;
    let file = output.join(format!("{name}.tar.gz"));
    let mut command = Command::new("tar");
    // Without owners and times, equal contents give equal files.
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=2020-01-01 00:00Z"]);
    workspace::run(command.arg("-czf").arg(&file).arg("-C").arg(&parent).arg(&name))?;
    Ok(file)
}

/// Unpacks the tarball and uses it through `set_env.sh`.
fn check_tarball(file: &Path) -> Result<()> {
    let directory = workspace::target().join("tarball-check");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    workspace::run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(&directory))?;
    let script = "set -e; source */set_env.sh; softacl demo --blocks 64 >/dev/null; npu-smi info >/dev/null; \
                  test \"$(cat $ASCEND_HOME_PATH/share/softacl/version)\" = \"$1\"; \
                  python3 -c 'import acl; assert acl.rt.set_device(0) == 0'";
    workspace::run(Command::new("bash").args(["-c", script, "bash", VERSION]).current_dir(&directory))?;
    println!("{} works where it was unpacked", file.display());
    Ok(())
}

/// Writes SHA256SUMS over all files.
fn checksums(output: &Path) -> Result<()> {
    let script = "LC_ALL=C sha256sum *.whl *.tar.gz *.deb $(ls *.crate 2>/dev/null) > SHA256SUMS && \
                  sha256sum --quiet --check SHA256SUMS && cat SHA256SUMS";
    workspace::run(Command::new("sh").args(["-c", script]).current_dir(output))
}
