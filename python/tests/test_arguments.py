"""How arguments are read: the same for every function, from one table."""

from typing import Any, Callable, Iterator

import acl
import pytest

import signatures
from signatures import SAMPLES

pytestmark = pytest.mark.bare

PARSE = "parse fai"


class Index:
    """A number for whoever asks with __index__."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class BrokenIndex:
    def __index__(self) -> int:
        raise ZeroDivisionError("no index today")


class NoNumber:
    def __index__(self) -> str:
        return "7"


class Int(int):
    """A subclass is as good as an int."""


TABLES: list[tuple[str, Any, dict[str, str]]] = [
    ("acl", acl, signatures.TOP),
    ("acl.rt", acl.rt, signatures.RT),
    ("acl.rt", acl.rt, {name: kinds for name, kinds in signatures.RT_BEYOND.items() if hasattr(acl.rt, name)}),
    ("acl.util", acl.util, signatures.UTIL),
    ("acl.media", acl.media, signatures.MEDIA),
]

# They read or start what they are given: no call that is only about parsing.
NEVER_CALLED = frozenset(
    {
        "acl.util.ptr_to_bytes",
        "acl.util.ptr_to_numpy",
        "acl.util.numpy_to_ptr",
        "acl.util.numpy_contiguous_to_ptr",
        "acl.util.start_thread",
    }
)
# Their errors have a text of their own.
OWN_TEXT = frozenset({"acl.util.start_thread", "acl.rt.get_event_id"})
# The kind of these arguments is not checked yet.
LENIENT = frozenset({"acl.rt.get_group_count"})


def rows() -> Iterator[tuple[str, Callable[..., Any], str]]:
    for prefix, module, table in TABLES:
        for name, kinds in table.items():
            yield f"{prefix}.{name}", getattr(module, name), kinds


def functions(letters: str = "", without: frozenset[str] = frozenset(), inputs: bool = True) -> Any:
    """Runs a test for the functions that have an argument of these kinds."""
    chosen = [
        row
        for row in rows()
        if row[0] not in without and bool(row[2]) == inputs and (not letters or set(row[2]) & set(letters))
    ]
    return pytest.mark.parametrize(("name", "function", "kinds"), chosen, ids=[row[0] for row in chosen])


def sample(name: str, kinds: str) -> list[Any]:
    """Arguments that are read without an error and do nothing."""
    objects = iter(SAMPLES.get(name.rpartition(".")[2], ()))
    plain = {"s": "no such thing", "f": 1.0}
    return [next(objects, None) if kind == "O" else plain.get(kind, 0) for kind in kinds]


def refused(name: str, function: Callable[..., Any], arguments: list[Any]) -> None:
    with pytest.raises(TypeError) as caught:
        function(*arguments)
    assert PARSE in str(caught.value), f"{name}{tuple(arguments)}: {caught.value}"
    assert name.rpartition(".")[2] in str(caught.value)


def read(name: str, function: Callable[..., Any], arguments: list[Any]) -> None:
    """The arguments are taken, whatever comes of it."""
    try:
        function(*arguments)
    except RuntimeError:
        # The one function of pyACL that raises when the runtime refuses.
        assert name == "acl.rt.get_group_info_detail"


@functions(without=OWN_TEXT)
def test_wrong_counts(name: str, function: Callable[..., Any], kinds: str) -> None:
    refused(name, function, [*sample(name, kinds), 0])
    for count in range(len(kinds)):
        refused(name, function, sample(name, kinds)[:count])


@functions(inputs=False)
def test_functions_without_inputs_ignore_arguments(name: str, function: Callable[..., Any], kinds: str) -> None:
    for arguments in [[0], [None], ["text", 1.5], [object()] * 20]:
        function(*arguments)


@functions("PiulHfs", without=LENIENT | OWN_TEXT)
def test_none_and_other_types(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        bad: list[Any] = [None, b"8", [], object(), 1j]
        if kind != "s":
            bad += ["8", ""]
        if kind != "f":
            bad += [1.0]
        if kind in "iulH":
            bad += [BrokenIndex(), NoNumber()]
        if kind == "s":
            bad += [8, "zero\0inside"]
        if kind == "O":
            continue
        for value in bad:
            arguments = sample(name, kinds)
            arguments[position] = value
            refused(name, function, arguments)


@functions("il", without=LENIENT)
def test_signed_numbers_out_of_range(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        bits = {"i": 31, "l": 63}.get(kind)
        if bits is None:
            continue
        for value in [2**bits, -(2**bits) - 1, 2**64, 10**30, Index(2**bits)]:
            arguments = sample(name, kinds)
            arguments[position] = value
            refused(name, function, arguments)


@functions("Pu", without=NEVER_CALLED)
def test_unsigned_numbers_wrap(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        if kind not in "Pu":
            continue
        for value in [2**64, -(2**64), 2**100, 3 * 2**64]:
            arguments = sample(name, kinds)
            arguments[position] = value
            read(name, function, arguments)


@functions("P", without=OWN_TEXT)
def test_pointers_take_no_index_objects(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        if kind == "P":
            arguments = sample(name, kinds)
            arguments[position] = Index()
            refused(name, function, arguments)


@functions("iulH", without=NEVER_CALLED)
def test_numbers_take_index_objects(name: str, function: Callable[..., Any], kinds: str) -> None:
    read(name, function, [Index() if kind in "iulH" else value for kind, value in zip(kinds, sample(name, kinds))])


@functions("PiulHf", without=NEVER_CALLED)
def test_bools_and_subclasses_are_ints(name: str, function: Callable[..., Any], kinds: str) -> None:
    for one in [False, True, Int(0), Int(1)]:
        read(name, function, [one if kind in "PiulHf" else value for kind, value in zip(kinds, sample(name, kinds))])


def test_numpy_integers_are_numbers_but_no_pointers() -> None:
    numpy = pytest.importorskip("numpy")
    assert acl.rt.set_device(numpy.int64(0)) == 0
    assert acl.rt.set_device(numpy.uint8(0)) == 0
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.malloc(numpy.int64(64), 0)
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.memcpy(numpy.uint64(1), 1, 1, 1, 0)
    ptr, ret = acl.rt.malloc(int(numpy.int64(64)), numpy.int32(0))
    assert ret == 0 and type(ptr) is int


def test_a_wrapped_pointer_is_the_pointer() -> None:
    assert acl.rt.set_device(0) == 0
    ptr, ret = acl.rt.malloc(64 + 2**64, 0)
    assert ret == 0
    assert acl.rt.free(ptr - 2**64) == 0
    assert acl.rt.malloc(-1, 0) == (0, 100000)


def test_a_wrapped_number_is_the_number() -> None:
    assert acl.rt.set_device(0) == 0
    assert acl.rt.create_event_with_flag(2**32 + 8)[1] == 0
    assert acl.rt.get_device_info(2**32, 102) == acl.rt.get_device_info(0, 102)


def test_the_message_has_the_dotted_name() -> None:
    with pytest.raises(TypeError, match=r"^acl\.rt\.memcpy_async args parse failed"):
        acl.rt.memcpy_async(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^acl\.init args parse failed"):
        acl.init(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [(None,), (1,), (b"x",), ("x", "y"), (None, 1), ("a\0b",)])
def test_init(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=PARSE):
        acl.init(*arguments)


@pytest.mark.parametrize(("arguments", "given"), [((), 0), ((len,), 1), ((len, [], 1), 3)])
def test_start_thread_counts_as_python_does(arguments: tuple[Any, ...], given: int) -> None:
    with pytest.raises(TypeError, match=rf"takes exactly 2 arguments \({given} given\)"):
        acl.util.start_thread(*arguments)


@pytest.mark.parametrize("arguments", [(), (1, 2), (None,), (1.0,), (Index(),)])
def test_get_event_id_is_a_type_error(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        acl.rt.get_event_id(*arguments)


def test_get_event_id_keeps_the_text_of_the_interpreter() -> None:
    with pytest.raises(TypeError, match="function takes exactly 1 argument"):
        acl.rt.get_event_id()  # type: ignore[call-arg]


def test_get_group_count_wants_a_number() -> None:
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.get_group_count("x")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [5, "text", [], object()])
def test_exception_callback_must_be_callable(value: Any) -> None:
    with pytest.raises(TypeError):
        acl.rt.set_exception_info_callback(value)


def test_exception_callback_takes_one_argument() -> None:
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.set_exception_info_callback(None, None)  # type: ignore[call-arg]


@pytest.mark.parametrize("value", [None, 5, "text", [], ()])
def test_dictionaries_must_be_dictionaries(value: Any) -> None:
    for call in [
        lambda: acl.rt.set_stream_attribute(0, 1, value),
        lambda: acl.rt.malloc_with_cfg(64, 0, value),
        lambda: acl.rt.malloc_for_task_scheduler(64, 0, value),
        lambda: acl.rt.malloc_host_with_cfg(64, value),
        lambda: acl.rt.malloc_physical(64, value, 0),
        lambda: acl.rt.mem_get_allocation_granularity(value, 0),
    ]:
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("value", [-1, 2**32, 2**70])
def test_numbers_in_dictionaries_must_fit(value: int) -> None:
    for call in [
        lambda: acl.rt.set_stream_attribute(0, 3, {"userCustomTag": value}),
        lambda: acl.rt.malloc_physical(64, {"memAttr": value}, 0),
        lambda: acl.rt.malloc_physical(64, {"location": {"id": value}}, 0),
        lambda: acl.rt.mem_get_allocation_granularity({"handleType": value}, 0),
    ]:
        with pytest.raises(ValueError):
            call()


def test_other_values_in_dictionaries_count_as_zero() -> None:
    assert acl.rt.set_device(0) == 0
    stream, ret = acl.rt.create_stream()
    assert ret == 0
    assert acl.rt.set_stream_attribute(stream, 3, {"userCustomTag": 7}) == 0
    assert acl.rt.set_stream_attribute(stream, 3, {"userCustomTag": "nine", "more": 1}) == 0
    assert acl.rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 0}, 0)


@pytest.mark.parametrize("value", [None, 5, (1,), "text", {1}])
def test_lists_must_be_lists(value: Any) -> None:
    for position, call in [
        (1, lambda: acl.rt.notify_batch_reset(value)),
        (2, lambda: acl.rt.notify_set_import_pid(0, value)),
        (2, lambda: acl.rt.ipc_mem_set_import_pid("key", value)),
        (2, lambda: acl.rt.mem_set_pid_to_shareable_handle(0, value)),
    ]:
        with pytest.raises(ValueError, match=f"argument {position} only support the format of list"):
            call()


@pytest.mark.parametrize("element", [None, 1.0, "1", [1], Index()])
def test_elements_of_lists_must_be_ints(element: Any) -> None:
    for call in [
        lambda: acl.rt.notify_batch_reset([0, element]),
        lambda: acl.rt.notify_set_import_pid(0, [1, element]),
        lambda: acl.rt.ipc_mem_set_import_pid("key", [1, element]),
        lambda: acl.rt.mem_set_pid_to_shareable_handle(0, [1, element]),
    ]:
        with pytest.raises(ValueError, match="get values from PyList failed"):
            call()


@pytest.mark.parametrize("length", [1024, 2**40])
def test_lengths_of_keys_are_below_1024(length: int) -> None:
    with pytest.raises(ValueError):
        acl.rt.ipc_mem_get_export_key(0, 0, length, 0)
    with pytest.raises(ValueError):
        acl.rt.notify_get_export_key(0, length, 0)


@pytest.mark.parametrize("timeout", [-1, 2**32])
def test_the_timeout_of_a_notify_has_its_own_text(timeout: int) -> None:
    with pytest.raises(TypeError, match="timeout"):
        acl.rt.wait_and_reset_notify(0, 0, timeout)


@pytest.mark.parametrize("value", [None, 5, "text", []])
def test_callbacks_must_be_callable(value: Any) -> None:
    with pytest.raises(TypeError, match="callable"):
        acl.rt.launch_callback(value, None, 1, 0)
    with pytest.raises(TypeError, match="callable"):
        acl.util.start_thread(value, None)


def test_group_details_raise_when_the_runtime_refuses() -> None:
    with pytest.raises(RuntimeError, match="207000"):
        acl.rt.get_group_info_detail(1, 0, 0)
