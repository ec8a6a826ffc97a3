"""Runs the examples on several schedules. Each of them verifies its data."""

import pathlib
import subprocess
import sys

import pytest

from support import TEST_TIMEOUT, environment

pytestmark = pytest.mark.bare

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
PROGRAMS = sorted(EXAMPLES.glob("[0-9]*.py"))


def test_examples_are_found() -> None:
    assert len(PROGRAMS) >= 7


@pytest.mark.parametrize("schedule", ["threads", "late", "random:1"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_example_succeeds(program: pathlib.Path, schedule: str) -> None:
    if "import numpy" in program.read_text(encoding="utf-8"):
        pytest.importorskip("numpy")
    child = subprocess.run(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TEST_TIMEOUT,
        env=environment(SOFTACL_SCHEDULE=schedule),
    )
    assert child.returncode == 0, child.stdout + child.stderr
    assert child.stdout.startswith(program.stem)
    assert child.stderr == ""
