//! `cargo xtask deb`: the Debian package. The tree of an installation is in /usr/lib/softacl, as that of a toolkit
//! elsewhere would be: the libraries must not be found by programs that want a card. /usr/bin has the command.

use crate::install::{self, VERSION};
use crate::portable::Portable;
use crate::{files, workspace};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOME: &str = "usr/lib/softacl";

/// Builds the package of a portable build. Returns its path.
pub fn build(products: &Portable, output: &Path) -> Result<PathBuf> {
    let arch = match products.arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("Debian has no name for {other} here"),
    };
    let root = workspace::target().join("deb-stage");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let home = root.join(HOME);
    install::stage(&home, &Path::new("/").join(HOME), &products.directory)?;
    share(&root, &home)?;
    softacl_toolkit::write_link(&Path::new("../lib/softacl").join("bin/softacl"), &root.join("usr/bin/softacl"))?;
    let doc = root.join("usr/share/doc/softacl");
    files::write(&doc.join("copyright"), COPYRIGHT)?;
    files::write(&root.join("usr/share/lintian/overrides/softacl"), OVERRIDES)?;
    compress(&doc.join("changelog"), &changelog()?)?;
    set_modes(&root)?;
    let control = CONTROL.replace("@VERSION@", VERSION).replace("@ARCH@", arch);
    let control = control.replace("@SIZE@", &(files::size_of_tree(&root)? / 1024).to_string());
    files::write(&root.join("DEBIAN/control"), &control)?;
    files::write(&root.join("DEBIAN/md5sums"), &checksums(&root)?)?;
    fs::create_dir_all(output)?;
    let package = output.join(format!("softacl_{VERSION}_{arch}.deb"));
    let mut command = Command::new("dpkg-deb");
    workspace::run(command.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&package))
        .context("building the Debian package")?;
    Ok(package)
}

/// Moves what Debian expects in /usr/share there, and removes what it has in another form.
fn share(root: &Path, home: &Path) -> Result<()> {
    let share = home.join("share");
    for part in ["bash-completion", "zsh", "fish", "man"] {
        let from = share.join(part);
        if from.is_dir() {
            // Debian's zsh and fish read these directories.
            let to = root.join("usr/share").join(if part == "zsh" { "zsh/vendor-completions" } else { part });
            fs::create_dir_all(to.parent().context("a directory has no parent")?)?;
            fs::rename(if part == "zsh" { from.join("site-functions") } else { from.clone() }, &to)?;
            if part == "zsh" {
                fs::remove_dir(from)?;
            }
        }
    }
    let pages = root.join("usr/share/man/man1");
    if pages.is_dir() {
        for page in files::entries(&pages)? {
            let text = fs::read_to_string(&page)?;
            fs::remove_file(&page)?;
            compress(&page, &text)?;
        }
    }
    fs::create_dir_all(root.join("usr/share/doc/softacl"))?;
    fs::rename(share.join("doc/softacl/README.md"), root.join("usr/share/doc/softacl/README.md"))?;
    fs::remove_dir_all(share.join("doc"))?;
    // The list is dpkg's.
    fs::remove_file(share.join("softacl/files")).context("an installation has a list of its files")
}

/// Writes `path`.gz without a time stamp.
fn compress(path: &Path, text: &str) -> Result<()> {
    files::write(path, text)?;
    workspace::run(Command::new("gzip").args(["-9", "-n", "-f"]).arg(path))
}

/// The changelog in Debian's form. What changed is in CHANGELOG.md.
fn changelog() -> Result<String> {
    let text = fs::read_to_string(workspace::root().join("CHANGELOG.md"))?;
    let date = text.lines().find_map(|line| line.strip_prefix(&format!("## [{VERSION}] - ")));
    let date = date.with_context(|| format!("CHANGELOG.md has no dated section for {VERSION}"))?;
    let done = Command::new("date").args(["-R", "-u", "-d", date]).output()?;
    ensure!(done.status.success(), "{date:?} in CHANGELOG.md is not a date");
    Ok(format!(
        "softacl ({VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- {MAINTAINER}  {}",
        String::from_utf8(done.stdout)?
    ))
}

/// Gives directories 755, files 644, and programs 755, whatever the umask was. Libraries are not programs.
fn set_modes(tree: &Path) -> Result<()> {
    for path in files::entries(tree)? {
        if path.is_symlink() {
            continue;
        }
        let is_program = path.parent().is_some_and(|parent| parent.ends_with("bin"));
        let mode = if path.is_dir() || is_program { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        if path.is_dir() {
            set_modes(&path)?;
        }
    }
    fs::set_permissions(tree, fs::Permissions::from_mode(0o755)).map_err(Into::into)
}

fn checksums(root: &Path) -> Result<String> {
    let script = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    let done = Command::new("sh").args(["-c", script]).current_dir(root).output()?;
    ensure!(done.status.success(), "md5sum failed: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

/// Unpacks the package, runs its command from the unpacked tree, and asks lintian, if it is installed.
pub fn check(package: &Path) -> Result<()> {
    let root = workspace::target().join("deb-check");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    workspace::run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&root))?;
    let softacl = root.join("usr/bin/softacl");
    workspace::run(Command::new(&softacl).args(["demo", "--blocks", "64"]))?;
    workspace::run(Command::new(&softacl).args([
        "run",
        "--",
        "sh",
        "-c",
        "test -e $ASCEND_HOME_PATH/latest/include/acl/acl.h",
    ]))?;
    let lintian = Command::new("lintian").args(["--fail-on", "error,warning"]).arg(package).output();
    match lintian {
        Err(_) => println!("lintian is not installed: the package was not examined by it"),
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.stdout);
            ensure!(done.status.success(), "lintian refuses {}:\n{text}", package.display());
            println!("lintian has no errors and no warnings");
        }
    }
    Ok(())
}

const MAINTAINER: &str = "The softacl contributors <softacl@users.noreply.github.com>";

const CONTROL: &str = "Package: softacl
Version: @VERSION@
Section: devel
Priority: optional
Architecture: @ARCH@
Maintainer: The softacl contributors <softacl@users.noreply.github.com>
Installed-Size: @SIZE@
Depends: libc6 (>= 2.28), libgcc-s1
Recommends: python3
Suggests: gcc, gdb
Homepage: https://github.com/softacl/softacl
Description: AscendCL without the NPU
 softacl is a drop-in replacement for libascendcl.so, the runtime library of
 Huawei Ascend NPUs, on a software device. Programs written for an Ascend card
 run unmodified on any Linux host. A checker proves missing waits and other
 misuse of asynchronous copies, and a tracer shows the timeline of streams.
";

const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: softacl
Source: https://github.com/softacl/softacl

Files: *
Copyright: 2026 The softacl contributors
License: MIT or Apache-2.0

License: MIT
 Permission is hereby granted, free of charge, to any person obtaining a copy
 of this software and associated documentation files (the \"Software\"), to deal
 in the Software without restriction, including without limitation the rights
 to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 copies of the Software, and to permit persons to whom the Software is
 furnished to do so, subject to the following conditions:
 .
 The above copyright notice and this permission notice shall be included in all
 copies or substantial portions of the Software.
 .
 THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 SOFTWARE.

License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
";

/// What lintian says about every toolkit with private libraries, with the reason why it stays.
const OVERRIDES: &str = "# The tree has the layout of a toolkit: clients look for these files at these places.
softacl: hardening-no-fortify-functions
softacl: no-manual-page
# No bug in a bug tracker asked for this package.
softacl: initial-upload-closes-no-bugs
";
