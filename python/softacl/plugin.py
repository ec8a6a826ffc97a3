"""The pytest plugin: runs each test that uses softacl in a separate process with fresh devices.

    def test_copy(softacl): ...                              # `softacl` is the module acl

    @pytest.mark.softacl(soc="Ascend310P", devices=1)        # another chip, one device
    def test_other_chip(softacl): ...

    @pytest.mark.softacl(schedules=["early", "late"], seeds=5)   # seven runs: two schedules, five seeds
    def test_every_order(softacl): ...

    @pytest.mark.softacl(check=True)                         # under the checker, on the schedule `late`
    def test_waits(softacl): ...

    @pytest.mark.softacl(no_hidden_sync=["synchronize_event"])   # fails if another call of the test waits
    def test_pipeline(softacl): ...

A test fails if a task of one of its streams failed and no wait returned the error, or if the checker has proven
a finding. `--softacl-check` runs every test under the checker, `--softacl-seeds N` on the schedules random:1 to
random:N, `--softacl-no-hidden-sync` as a region without hidden waits, and `--softacl-report FILE` writes one report for
the whole session.
"""

import ctypes
import functools
import json
import os
import pickle
import signal
import subprocess
import sys
import traceback
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest
from _pytest.reports import TestReport
from _pytest.runner import runtestprotocol

from softacl.gates import HiddenSync, no_hidden_sync

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "softacl",
    "softacl_schedule",
]

# Maps keywords of the marker to environment variables.
_VARIABLES = {
    "soc": "SOFTACL_SOC",
    "form": "SOFTACL_FORM",
    "cann": "SOFTACL_CANN",
    "devices": "SOFTACL_DEVICES",
    "memory": "SOFTACL_MEMORY",
    "host_memory": "SOFTACL_HOST_MEMORY",
    "strict": "SOFTACL_STRICT",
}


# Keywords of the marker that are no environment variables.
_OTHERS = {"schedules", "seeds", "check", "no_hidden_sync"}


class _SessionReport:
    """What the checker found in all tests of the session."""

    def __init__(self) -> None:
        self.tests = 0
        self.findings: Dict[Tuple[str, str], Dict[str, Any]] = {}
        self.unjudged: Dict[Tuple[str, str], Dict[str, Any]] = {}
        self.notes: List[str] = []

    def add(self, test: str, document: Dict[str, Any]) -> None:
        self.tests += 1
        for finding in document["findings"]:
            key = (finding["id"], finding["fingerprint"])
            known = self.findings.setdefault(key, {**finding, "count": 0, "tests": []})
            known["count"] += finding["count"]
            known["tests"].append(test)
            # Another test may prove what this one reported as advice.
            if finding["severity"] == "PROVEN":
                known["severity"] = "PROVEN"
        for entry in document.get("unjudged", []):
            limit = self.unjudged.setdefault((entry["what"], entry["reason"]), {**entry, "count": 0})
            limit["count"] += entry["count"]
        self.notes += [f"{test}: {note}" for note in document.get("notes", [])]

    def count(self, severity: str) -> int:
        return sum(finding["severity"] == severity for finding in self.findings.values())

    def summary(self) -> str:
        text = f"{self.count('PROVEN')} proven, {self.count('ADVICE')} advice"
        if self.unjudged:
            text += f", {len(self.unjudged)} not judged"
        return f"{text} in {self.tests} checked test{'s' if self.tests != 1 else ''}"

    def document(self) -> Dict[str, Any]:
        findings = sorted(self.findings.values(), key=lambda finding: finding["severity"] != "PROVEN")
        return {
            "tests": self.tests,
            "findings": findings,
            "unjudged": list(self.unjudged.values()),
            "notes": self.notes,
        }


_REPORT = pytest.StashKey[_SessionReport]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("softacl")
    group.addoption("--softacl-soc", default=None, help="default chip")
    group.addoption(
        "--softacl-seeds",
        type=int,
        default=0,
        metavar="N",
        help="run every test on the schedules random:1 to random:N, unless its marker names schedules",
    )
    group.addoption(
        "--softacl-report",
        default=None,
        metavar="FILE",
        help="write the findings of all tests as JSON; implies --softacl-check",
    )
    group.addoption("--softacl-check", action="store_true", help="run every test under the checker")
    group.addoption(
        "--softacl-no-hidden-sync",
        action="store_true",
        help="fail every test in which a call waits, unless its marker decides",
    )
    group.addoption(
        "--softacl-allow-sync",
        default="",
        metavar="NAMES",
        help="functions that may wait under --softacl-no-hidden-sync, separated by commas",
    )
    group.addoption(
        "--softacl-schedule", default=None, help="default schedule: threads, early, late or random:SEED"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "softacl(soc, form, cann, devices, memory, host_memory, strict, schedules, seeds, check, no_hidden_sync): "
        "run the test in a separate process with fresh devices",
    )
    config.stash[_REPORT] = _SessionReport()
    if config.getoption("--softacl-seeds") < 0:
        raise pytest.UsageError("--softacl-seeds: a negative number of seeds")
    chip = config.getoption("--softacl-soc")
    reason = chip and _chip_error(chip)
    if reason:
        raise pytest.UsageError(f"--softacl-soc: {reason}")
    report = config.getoption("--softacl-report")
    if report:
        try:
            open(report, "w").close()  # a wrong path must not waste the session
        except OSError as error:
            raise pytest.UsageError(f"--softacl-report: {error}") from None


@functools.lru_cache(maxsize=None)
def _chip_error(chip: str) -> Optional[str]:
    """Returns why softacl refuses a chip, with the list of chips, or None.

    Asks in another process, because this one is forked later and must not use acl.
    """
    program = "import acl, sys; sys.exit(42 if acl.rt.get_device_count()[1] != 0 else 0)"
    environment = {**os.environ, "SOFTACL_SOC": chip}
    environment.pop("SOFTACL_CHECK", None)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("softacl: ")]
    if done.returncode != 42 or not lines:
        return None  # the chip exists, or the test itself will show what is wrong
    return lines[0][len("softacl: ") :].replace("SOFTACL_SOC: ", "", 1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("softacl")
    if marker is None and "softacl" not in metafunc.fixturenames:
        return
    options = {} if marker is None else marker.kwargs
    unknown = set(options) - set(_VARIABLES) - _OTHERS
    if unknown or (marker is not None and marker.args):
        wrong = sorted(unknown) or (marker and marker.args)
        known = f"{sorted(_VARIABLES)}, {', '.join(sorted(_OTHERS))}"
        raise pytest.UsageError(f"pytest.mark.softacl: unknown {wrong}; known: {known}")
    reason = "soc" in options and _chip_error(str(options["soc"]))
    if reason:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: pytest.mark.softacl(soc=...): {reason}")
    schedules: List[str] = list(options.get("schedules", []))
    default = 0 if schedules else metafunc.config.getoption("--softacl-seeds")
    # As in `softacl check --seeds N`.
    schedules += [f"random:{seed}" for seed in range(1, options.get("seeds", default) + 1)]
    if schedules:
        if "softacl_schedule" not in metafunc.fixturenames:
            metafunc.fixturenames.append("softacl_schedule")
        metafunc.parametrize("softacl_schedule", schedules, indirect=True)


@pytest.fixture
def softacl_schedule(request: pytest.FixtureRequest) -> Optional[str]:
    """The schedule of this run, or None for the default one."""
    return getattr(request, "param", None)


@pytest.fixture
def softacl() -> Iterator[Any]:
    """The module acl, initialized, with device 0 set."""
    import acl  # type: ignore[import-not-found,unused-ignore]

    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield acl
    acl.rt.reset_device(0)
    acl.finalize()


def _uses_softacl(item: pytest.Item) -> bool:
    """Returns True if the test has the marker or uses the fixture."""
    return item.get_closest_marker("softacl") is not None or "softacl" in getattr(item, "fixturenames", ())


def _checks_all(config: pytest.Config) -> bool:
    return bool(config.getoption("--softacl-check") or config.getoption("--softacl-report"))


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Runs the test in a region without hidden waits, if its marker or the option asks for it."""
    marker = pyfuncitem.get_closest_marker("softacl")
    gate = marker.kwargs.get("no_hidden_sync") if marker is not None else None
    config = pyfuncitem.config
    if gate is None and config.getoption("--softacl-no-hidden-sync") and _uses_softacl(pyfuncitem):
        gate = [name for name in config.getoption("--softacl-allow-sync").split(",") if name]
    if gate is None or gate is False:
        yield
        return
    region = no_hidden_sync(allow=() if gate is True else gate)
    region.__enter__()
    outcome: Any = yield
    if outcome.excinfo is not None:
        region.__exit__(*outcome.excinfo)
        return
    try:
        region.__exit__(None, None, None)
    except HiddenSync as error:
        outcome.force_exception(error)


def pytest_sessionfinish(session: pytest.Session) -> None:
    file = session.config.getoption("--softacl-report")
    if file:
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(session.config.stash[_REPORT].document(), stream, indent=2)
            stream.write("\n")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    report = config.stash[_REPORT]
    if report.tests:
        file = config.getoption("--softacl-report")
        terminalreporter.write_line(f"softacl check: {report.summary()}" + (f"; see {file}" if file else ""))


def _environment(item: pytest.Item) -> "dict[str, str]":
    """Returns the environment variables for the test."""
    marker = item.get_closest_marker("softacl")
    options = {} if marker is None else marker.kwargs
    chosen = {_VARIABLES[name]: str(value) for name, value in options.items() if name in _VARIABLES}
    if "SOFTACL_SOC" not in chosen and item.config.getoption("--softacl-soc"):
        chosen["SOFTACL_SOC"] = item.config.getoption("--softacl-soc")
    schedule = getattr(item, "callspec").params.get("softacl_schedule") if hasattr(item, "callspec") else None
    schedule = schedule or item.config.getoption("--softacl-schedule")
    if schedule:
        chosen["SOFTACL_SCHEDULE"] = schedule
    if options.get("check", _checks_all(item.config)):
        chosen["SOFTACL_CHECK"] = "1"
    return chosen


def pytest_runtest_protocol(item: pytest.Item, nextitem: Optional[pytest.Item]) -> Optional[bool]:
    if not _uses_softacl(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _run_forked(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run_forked(item: pytest.Item) -> List[TestReport]:
    """Runs the test in a forked process and returns its reports."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            os.environ.update(_environment(item))
            reports = runtestprotocol(item, log=False, nextitem=None)
            _add_unobserved(item, reports)
            document = _add_findings(item, reports)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump((reports, document), pipe)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if data:
        reports, document = pickle.loads(data)
        assert isinstance(reports, list)
        if document is not None:
            item.config.stash[_REPORT].add(item.nodeid, document)
        return reports
    if os.WIFSIGNALED(status):
        how = f"was terminated by {signal.Signals(os.WTERMSIG(status)).name}"
    else:
        how = f"exited with code {os.WEXITSTATUS(status)} before the test finished"
    return [_failed(item, f"the process of the test {how}")]


def _failed(item: pytest.Item, text: str) -> TestReport:
    return TestReport(item.nodeid, item.location, {}, "failed", text, "call")


def _add_unobserved(item: pytest.Item, reports: List[TestReport]) -> None:
    """Fails a passed test if a task failed and no wait returned its error."""
    text = _unobserved()
    if not text:
        return
    for index, report in enumerate(reports):
        if report.when == "call" and report.passed:
            reports[index] = _failed(item, f"asynchronous errors that no wait returned:\n{text}")


def _add_findings(item: pytest.Item, reports: List[TestReport]) -> Optional[Dict[str, Any]]:
    """Fails a passed test if the checker has proven a finding. Returns the report, without its timeline."""
    library = _library()
    if library is None or not hasattr(library, "softaclFindings"):
        return None
    library.softaclFindings.restype = ctypes.c_size_t
    library.softaclFindings.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    size = library.softaclFindings(None, 0)
    if not size:
        return None  # the checker is off
    buffer = ctypes.create_string_buffer(size + (1 << 16))
    library.softaclFindings(buffer, len(buffer))
    document: Dict[str, Any] = json.loads(buffer.value)
    document.pop("timeline", None)
    proven = [finding for finding in document["findings"] if finding["severity"] == "PROVEN"]
    # For `softacl check -- pytest`: reports the findings now, because this process skips its exit handlers.
    library.softaclTellFindings()
    if not proven:
        return document
    text = "\n\n".join(_describe(finding) for finding in proven)
    for index, report in enumerate(reports):
        if report.when == "call" and report.passed:
            reports[index] = _failed(item, f"softacl check: {len(proven)} proven\n{text}")
    return document


def _describe(finding: Any) -> str:
    """Formats a finding with its operations and its fix."""
    lines = [f"{finding['id']}: {finding['message']}"]
    for operation in finding["operations"]:
        frame = next((frame for frame in operation["place"]["frames"] if frame.get("line")), None)
        where = f" at {frame['file']}:{frame['line']}" if frame else ""
        lines.append(f"  {operation['role']}: {operation['what']}{where}")
    lines.append(f"  fix: {finding['fix']}")
    return "\n".join(lines)


def _library() -> Optional[ctypes.CDLL]:
    """Returns libascendcl.so if the process has loaded it."""
    try:
        return ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None  # the test did not load the library


def _unobserved() -> str:
    """Returns the errors of failed tasks that no wait has returned, as text."""
    library = _library()
    if library is None:
        return ""
    try:
        unobserved = library.softaclUnobservedErrors
    except AttributeError:
        return ""  # the library of a card, which lacks this function
    unobserved.restype = ctypes.c_size_t
    unobserved.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    buffer = ctypes.create_string_buffer(4096)
    return buffer.value.decode(errors="replace") if unobserved(buffer, len(buffer)) else ""
