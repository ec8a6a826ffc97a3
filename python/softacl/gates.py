"""Gates for tests: what a piece of code must not do, or must do.

    with softacl.no_hidden_sync(allow=["synchronize_event"]):
        ...                                         # raises HiddenSync if another call waits

    with softacl.timeline() as timeline:
        ...
    timeline.assert_overlaps("copy H2D", "host function")
    timeline.assert_max_host_stall(5)               # milliseconds

They use the library that the process has loaded, and need no pytest.
"""

import contextlib
import ctypes
import glob
import json
import os
import tempfile
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

__all__ = ["HiddenSync", "Slice", "Timeline", "no_hidden_sync", "timeline", "trace_range"]


class HiddenSync(AssertionError):
    """A call waited inside `no_hidden_sync`. `calls` has a line for each call site."""

    def __init__(self, name: str, count: int, calls: Sequence[str]):
        self.calls = list(calls)
        where = f" in {name!r}" if name else ""
        super().__init__(f"{count} call{'s' if count != 1 else ''} waited{where}:\n" + "\n".join(calls))


def _library(feature: str) -> ctypes.CDLL:
    """Returns the loaded libascendcl.so. Raises RuntimeError if it is not softacl."""
    try:
        library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        raise RuntimeError(f"{feature} needs softacl: import acl first") from None
    if not hasattr(library, "softaclVersion"):
        raise RuntimeError(f"{feature} needs softacl, but libascendcl.so is another library")
    return library


def _c_name(name: str) -> str:
    """Returns the C name of a function: `synchronize_stream`, `acl.rt.synchronize_stream` or the C name itself."""
    name = name.rsplit(".", 1)[-1]
    if name.startswith("acl"):
        return name
    return "aclrt" + "".join(word[:1].upper() + word[1:] for word in name.split("_"))


@contextlib.contextmanager
def trace_range(name: str) -> Iterator[None]:
    """A named range on the timeline of `softacl trace`; with `--ranges`, only such ranges are recorded.

        with softacl.trace_range("step 100"):
            step()
    """
    library = _library("trace_range")
    code = library.softaclTraceRangeBegin(ctypes.c_char_p(name.encode()))
    if code != 0:
        raise RuntimeError(f"softaclTraceRangeBegin returned {code}")
    try:
        yield
    finally:
        library.softaclTraceRangeEnd()


@contextlib.contextmanager
def no_hidden_sync(allow: Sequence[str] = (), name: str = "") -> Iterator[None]:
    """Raises HiddenSync if a call of this thread waits in the block, unless `allow` has its function.

    Counted are synchronous copies and memory sets, asynchronous copies of pageable memory, explicit waits, frees with
    synchronization, destroy_stream and reset_device, even if there was nothing to wait for.
    """
    library = _library("no_hidden_sync")
    begin, end = library.softaclNoHiddenSyncBegin, library.softaclNoHiddenSyncEnd
    begin.argtypes, begin.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_int
    end.argtypes, end.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_size_t
    if begin(name.encode(), ",".join(map(_c_name, allow)).encode()) != 0:
        raise ValueError(f"no_hidden_sync: {list(allow)} contains a name that is not a function of the API")
    text = ctypes.create_string_buffer(1 << 14)
    try:
        yield
    except BaseException:
        end(None, 0)
        raise
    count = end(text, len(text))
    if count:
        raise HiddenSync(name, count, text.value.decode(errors="replace").splitlines())


class Slice(NamedTuple):
    """Something on the timeline that took time, in microseconds."""

    name: str
    category: str
    start: float
    end: float

    @property
    def milliseconds(self) -> float:
        return (self.end - self.start) / 1000


class Timeline:
    """What ran between the start and the end of `timeline()`. Empty until the end."""

    def __init__(self) -> None:
        self.slices: List[Slice] = []
        """All tasks, calls and ranges, by start."""

    def find(self, label: str) -> List[Slice]:
        """Returns the slices whose name contains the label. Raises AssertionError if there is none."""
        found = [item for item in self.slices if label in item.name]
        if not found:
            names = sorted({item.name for item in self.slices})
            raise AssertionError(f"the timeline has no {label!r}; it has: {', '.join(names) or 'nothing'}")
        return found

    def overlap(self, first: str, second: str) -> float:
        """Returns the time, in milliseconds, in which slices of both labels ran."""
        pairs = ((a, b) for a in self.find(first) for b in self.find(second) if a is not b)
        spans = [(max(a.start, b.start), min(a.end, b.end)) for a, b in pairs]
        total, reached = 0.0, float("-inf")
        for start, end in sorted(span for span in spans if span[0] < span[1]):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return total / 1000

    def assert_overlaps(self, first: str, second: str) -> None:
        """Raises AssertionError unless a slice of the first label ran at the same time as one of the second."""
        if self.overlap(first, second) <= 0:
            spans = f"  {_spans(self.find(first))}\n  {_spans(self.find(second))}"
            raise AssertionError(f"{first!r} and {second!r} did not overlap:\n{spans}")

    def assert_max_host_stall(self, milliseconds: float, allow: Sequence[str] = ()) -> None:
        """Raises AssertionError if a call kept its thread longer than this. `allow` lists functions."""
        allowed = {_c_name(name) for name in allow}
        calls = [item for item in self.slices if item.category == "call" and item.name not in allowed]
        slow = sorted((call for call in calls if call.milliseconds > milliseconds), key=lambda call: -call.milliseconds)
        if slow:
            lines = [f"  {call.name}: {call.milliseconds:.3f} ms" for call in slow[:10]]
            count = f"{len(slow)} call{'s' if len(slow) != 1 else ''}"
            raise AssertionError(f"{count} took longer than {milliseconds} ms:\n" + "\n".join(lines))


def _spans(slices: Sequence[Slice]) -> str:
    shown = ", ".join(f"{item.start / 1000:.3f} to {item.end / 1000:.3f} ms" for item in slices[:5])
    more = f" and {len(slices) - 5} more" if len(slices) > 5 else ""
    return f"{slices[0].name}: {shown}{more}"


@contextlib.contextmanager
def timeline() -> Iterator[Timeline]:
    """Records the timeline of all threads and streams in the block. The result is complete after the block.

    Uses the profiling functions of the library (aclprofInit to aclprofFinalize), so the block cannot use them itself.
    Not under the checker, which observes the calls itself: raises RuntimeError.
    """
    library = _library("timeline")
    if library.softaclIsChecking():
        raise RuntimeError("timeline: nothing can be recorded under the checker; use check=False for this test")
    library.aclprofCreateConfig.restype = ctypes.c_void_p
    recorded = Timeline()
    with tempfile.TemporaryDirectory(prefix="softacl-timeline-") as directory:
        path = directory.encode()
        _require(library.aclprofInit(path, ctypes.c_size_t(len(path))), "aclprofInit")
        device = ctypes.c_uint32(0)
        config = ctypes.c_void_p(
            library.aclprofCreateConfig(ctypes.byref(device), 1, 0, None, ctypes.c_uint64(1))
        )
        try:
            _require(library.aclprofStart(config), "aclprofStart")
            try:
                yield recorded
            finally:
                _require(library.aclprofStop(config), "aclprofStop")
        finally:
            library.aclprofDestroyConfig(config)
            library.aclprofFinalize()
        for file in glob.glob(os.path.join(directory, "**", "softacl_*.json"), recursive=True):
            with open(file, encoding="utf-8") as stream:
                recorded.slices += _slices(json.load(stream)["traceEvents"])
    # The end of the recording is not part of the block.
    recorded.slices = [item for item in recorded.slices if item.name != "aclprofStop"]
    recorded.slices.sort(key=lambda item: item.start)


def _require(code: int, function: str) -> None:
    if code != 0:
        raise RuntimeError(f"timeline: {function} returned {code}")


def _slices(events: Sequence[Dict[str, Any]]) -> List[Slice]:
    """Returns the complete slices, and the ranges of marks, whose two ends are separate events."""
    slices: List[Slice] = []
    open_ranges: Dict[Any, Dict[str, Any]] = {}
    for event in events:
        if event["ph"] == "X":
            start: float = event["ts"]
            slices.append(Slice(event["name"], event.get("cat", ""), start, start + event["dur"]))
        elif event["ph"] == "b":
            open_ranges[event["id"]] = event
        elif event["ph"] == "e":
            first: Optional[Dict[str, Any]] = open_ranges.pop(event["id"], None)
            if first is not None:
                slices.append(Slice(first["name"], "range", first["ts"], event["ts"]))
    return slices
