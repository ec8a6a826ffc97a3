"""The pytest plugin: runs each test that uses softacl in a separate process with fresh devices.

    def test_copy(softacl): ...                              # `softacl` is the module acl

    @pytest.mark.softacl(soc="Ascend310P", devices=1)        # another chip, one device
    def test_other_chip(softacl): ...

    @pytest.mark.softacl(schedules=["early", "late"], seeds=5)   # seven runs: two schedules, five seeds
    def test_every_order(softacl): ...

    @pytest.mark.softacl(check=True)                         # under the checker, on the schedule `late`
    def test_waits(softacl): ...

A test fails if a task of one of its streams failed and no wait returned the error, or if the checker has proven
a finding. `--softacl-check` runs every test under the checker.
"""

import ctypes
import json
import os
import pickle
import signal
import traceback
from typing import Any, Iterator, List, Optional

import pytest
from _pytest.reports import TestReport
from _pytest.runner import runtestprotocol

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_protocol",
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


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("softacl")
    group.addoption("--softacl-soc", default=None, help="default chip")
    group.addoption("--softacl-check", action="store_true", help="run every test under the checker")
    group.addoption(
        "--softacl-schedule", default=None, help="default schedule: threads, early, late or random:SEED"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "softacl(soc, form, cann, devices, memory, host_memory, strict, schedules, seeds, check): "
        "run the test in a separate process with fresh devices",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("softacl")
    if marker is None:
        return
    unknown = set(marker.kwargs) - set(_VARIABLES) - {"schedules", "seeds", "check"}
    if unknown or marker.args:
        wrong = sorted(unknown) or marker.args
        known = f"{sorted(_VARIABLES)}, schedules, seeds, check"
        raise pytest.UsageError(f"pytest.mark.softacl: unknown {wrong}; known: {known}")
    schedules: List[str] = list(marker.kwargs.get("schedules", []))
    schedules += [f"random:{seed}" for seed in range(marker.kwargs.get("seeds", 0))]
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
    if options.get("check") or item.config.getoption("--softacl-check"):
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
            _add_findings(item, reports)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(reports, pipe)
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
        reports = pickle.loads(data)
        assert isinstance(reports, list)
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


def _add_findings(item: pytest.Item, reports: List[TestReport]) -> None:
    """Fails a passed test if the checker has proven a finding."""
    library = _library()
    if library is None or not hasattr(library, "softaclFindings"):
        return
    library.softaclFindings.restype = ctypes.c_size_t
    library.softaclFindings.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    size = library.softaclFindings(None, 0)
    if not size:
        return  # the checker is off
    buffer = ctypes.create_string_buffer(size + (1 << 16))
    library.softaclFindings(buffer, len(buffer))
    proven = [finding for finding in json.loads(buffer.value)["findings"] if finding["severity"] == "PROVEN"]
    # For `softacl check -- pytest`: reports the findings now, because this process skips its exit handlers.
    library.softaclTellFindings()
    if not proven:
        return
    text = "\n\n".join(_describe(finding) for finding in proven)
    for index, report in enumerate(reports):
        if report.when == "call" and report.passed:
            reports[index] = _failed(item, f"softacl check: {len(proven)} proven\n{text}")


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
