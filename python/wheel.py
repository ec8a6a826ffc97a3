"""Builds the wheel: `python wheel.py --stage DIR --output DIR`.

The stage directory has the contents of site-packages. A wheel is a zip file with a list of its
contents. This script needs only the standard library.
"""

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent
# A fixed time stamp makes wheels with equal contents identical.
EPOCH = (2020, 1, 1, 0, 0, 0)

METADATA = """Metadata-Version: 2.1
Name: softacl
Version: {version}
Summary: AscendCL without the NPU: the module acl, libascendcl.so and a pytest plugin
License: MIT OR Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{readme}
"""
WHEEL = """Wheel-Version: 1.0
Generator: softacl
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[pytest11]
softacl = softacl

[torch.backends]
softacl = softacl.torch:autoload
"""


def version() -> str:
    found = re.search(r'__version__ = "(.+)"', (ROOT / "softacl/__init__.py").read_text())
    assert found is not None
    return found.group(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    tag = f"cp39-abi3-linux_{platform.machine()}"
    info = f"softacl-{version()}.dist-info"
    readme = (ROOT.parent / "README.md").read_text()
    paths = [path for path in sorted(arguments.stage.rglob("*")) if path.is_file()]
    files = {str(path.relative_to(arguments.stage)): path.read_bytes() for path in paths}
    files[f"{info}/METADATA"] = METADATA.format(version=version(), readme=readme).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    arguments.output.mkdir(parents=True, exist_ok=True)
    wheel = arguments.output / f"softacl-{version()}-{tag}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o755 << 16 if name.endswith(".so") else 0o644 << 16
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        record.append(f"{info}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", EPOCH), "\n".join(record) + "\n")
    print(wheel)


if __name__ == "__main__":
    main()
