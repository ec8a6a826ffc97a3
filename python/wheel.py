"""Builds the wheel: `python wheel.py --stage DIR --output DIR --platform TAG`.

The stage directory has the contents of site-packages. A wheel is a zip file with a list of its
contents. This script needs only the standard library.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A fixed time stamp makes wheels with equal contents identical.
EPOCH = (2020, 1, 1, 0, 0, 0)
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")

METADATA = """Metadata-Version: 2.4
Name: softacl
Version: {version}
Summary: AscendCL without the NPU: run, check and trace programs written for Huawei Ascend on any Linux machine
Author: The softacl contributors
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
Keywords: ascend,npu,cann,acl,pyacl,simulator,testing,race detector
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3.9
Classifier: Programming Language :: Python :: 3.10
Classifier: Programming Language :: Python :: 3.11
Classifier: Programming Language :: Python :: 3.12
Classifier: Programming Language :: Python :: 3.13
Classifier: Programming Language :: Python :: 3.14
Classifier: Programming Language :: Python :: Implementation :: CPython
Classifier: Programming Language :: Rust
Classifier: Framework :: Pytest
Classifier: Topic :: Software Development :: Testing
Classifier: Topic :: System :: Emulators
Classifier: Topic :: System :: Hardware
Project-URL: Homepage, {repository}
Project-URL: Documentation, {repository}/tree/v{version}/docs
Project-URL: Changelog, {repository}/blob/v{version}/CHANGELOG.md
Project-URL: Issues, {repository}/issues
Requires-Python: >=3.9
Provides-Extra: test
Requires-Dist: pytest>=7; extra == "test"
Requires-Dist: numpy; extra == "test"
Provides-Extra: torch
Requires-Dist: torch==2.10.*; extra == "torch"
Requires-Dist: numpy; extra == "torch"
Requires-Dist: PyYAML; extra == "torch"
Description-Content-Type: text/markdown

{readme}
"""
WHEEL = """Wheel-Version: 1.0
Generator: softacl
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
softacl = softacl.__main__:main

[pytest11]
softacl = softacl

[torch.backends]
softacl = softacl.torch:autoload
"""


def workspace_value(name: str) -> str:
    """Returns a value of [workspace.package]: version and repository are written there and nowhere else."""
    found = re.search(rf'^{name} = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert found is not None, f"Cargo.toml has no {name}"
    return found.group(1)


def readme(repository: str, version: str) -> str:
    """Returns the README with links that work outside the repository."""
    text = (ROOT / "README.md").read_text()
    local = r"\((?![a-z]+:|#)([^)\s]+)\)"
    text = re.sub(r"(!\[[^\]]*\])" + local, rf"\1({repository}/raw/v{version}/\2)", text)
    return re.sub(r"(\])" + local, rf"\1({repository}/blob/v{version}/\2)", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--platform", required=True)
    arguments = parser.parse_args()
    version, repository = workspace_value("version"), workspace_value("repository")
    package = (ROOT / "python/softacl/__init__.py").read_text()
    assert f'__version__ = "{version}"' in package, f"softacl/__init__.py has another version than {version}"
    tag = f"cp39-abi3-{arguments.platform}"
    info = f"softacl-{version}.dist-info"
    paths = [path for path in sorted(arguments.stage.rglob("*")) if path.is_file()]
    files = {str(path.relative_to(arguments.stage)): path.read_bytes() for path in paths}
    programs = {str(path.relative_to(arguments.stage)) for path in paths if path.stat().st_mode & 0o100}
    metadata = METADATA.format(version=version, repository=repository, readme=readme(repository, version))
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    for name in LICENSES:
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    arguments.output.mkdir(parents=True, exist_ok=True)
    wheel = arguments.output / f"softacl-{version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # Regular files; installers keep the permission to execute.
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        record.append(f"{info}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", EPOCH), "\n".join(record) + "\n")
    print(wheel)


if __name__ == "__main__":
    main()
