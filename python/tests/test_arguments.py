"""Argument parsing, which is the same for all functions, tested from one table."""

from typing import Any, Callable, Iterator

import acl
import pytest

import signatures
from signatures import SAMPLES

pytestmark = pytest.mark.bare

PARSE = "parse fai"


class Index:
    """A number that implements only __index__."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class BrokenIndex:
    def __index__(self) -> int:
        raise ZeroDivisionError("broken index")


class BadIndex:
    def __index__(self) -> str:
        return "7"


class Int(int):
    """A subclass, which is accepted like an int."""


TABLES: list[tuple[str, Any, dict[str, str]]] = [
    ("acl", acl, signatures.TOP),
    ("acl.rt", acl.rt, signatures.RT),
    ("acl.rt", acl.rt, {name: kinds for name, kinds in signatures.RT_BEYOND.items() if hasattr(acl.rt, name)}),
    ("acl.util", acl.util, signatures.UTIL),
    ("acl.media", acl.media, signatures.MEDIA),
]

# Functions that dereference or start their arguments, so that parsing cannot be tested alone.
USES_ARGUMENTS = frozenset(
    {
        "acl.util.ptr_to_bytes",
        "acl.util.ptr_to_numpy",
        "acl.util.numpy_to_ptr",
        "acl.util.numpy_contiguous_to_ptr",
        "acl.util.start_thread",
    }
)
# Functions with other error messages.
OTHER_MESSAGE = frozenset({"acl.util.start_thread", "acl.rt.get_event_id"})
# Functions that do not check the kind of their arguments yet.
LENIENT = frozenset({"acl.rt.get_group_count"})


def rows() -> Iterator[tuple[str, Callable[..., Any], str]]:
    for prefix, module, table in TABLES:
        for name, kinds in table.items():
            yield f"{prefix}.{name}", getattr(module, name), kinds


def functions(letters: str = "", without: frozenset[str] = frozenset(), inputs: bool = True) -> Any:
    """Parametrizes a test with the functions that have an argument of these kinds."""
    chosen = [
        row
        for row in rows()
        if row[0] not in without and bool(row[2]) == inputs and (not letters or set(row[2]) & set(letters))
    ]
    return pytest.mark.parametrize(("name", "function", "kinds"), chosen, ids=[row[0] for row in chosen])


def sample(name: str, kinds: str) -> list[Any]:
    """Returns arguments that are valid and have no effect."""
    objects = iter(SAMPLES.get(name.rpartition(".")[2], ()))
    plain = {"s": "no-such-name", "f": 1.0}
    return [next(objects, None) if kind == "O" else plain.get(kind, 0) for kind in kinds]


def assert_parse_error(name: str, function: Callable[..., Any], arguments: list[Any]) -> None:
    with pytest.raises(TypeError) as caught:
        function(*arguments)
    assert PARSE in str(caught.value), f"{name}{tuple(arguments)}: {caught.value}"
    assert name.rpartition(".")[2] in str(caught.value)


def assert_parsed(name: str, function: Callable[..., Any], arguments: list[Any]) -> None:
    """Asserts that the arguments are accepted. The call itself may fail."""
    try:
        function(*arguments)
    except RuntimeError:
        # The only function of pyACL that raises if the runtime refuses the call.
        assert name == "acl.rt.get_group_info_detail"


@functions(without=OTHER_MESSAGE)
def test_wrong_argument_count_raises(name: str, function: Callable[..., Any], kinds: str) -> None:
    assert_parse_error(name, function, [*sample(name, kinds), 0])
    for count in range(len(kinds)):
        assert_parse_error(name, function, sample(name, kinds)[:count])


@functions(inputs=False)
def test_functions_without_inputs_ignore_arguments(name: str, function: Callable[..., Any], kinds: str) -> None:
    for arguments in [[0], [None], ["text", 1.5], [object()] * 20]:
        function(*arguments)


@functions("PiulHfs", without=LENIENT | OTHER_MESSAGE)
def test_none_and_wrong_types_raise(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        bad: list[Any] = [None, b"8", [], object(), 1j]
        if kind != "s":
            bad += ["8", ""]
        if kind != "f":
            bad += [1.0]
        if kind in "iulH":
            bad += [BrokenIndex(), BadIndex()]
        if kind == "s":
            bad += [8, "zero\0inside"]
        if kind == "O":
            continue
        for value in bad:
            arguments = sample(name, kinds)
            arguments[position] = value
            assert_parse_error(name, function, arguments)


@functions("il", without=LENIENT)
def test_signed_numbers_out_of_range_raise(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        bits = {"i": 31, "l": 63}.get(kind)
        if bits is None:
            continue
        for value in [2**bits, -(2**bits) - 1, 2**64, 10**30, Index(2**bits)]:
            arguments = sample(name, kinds)
            arguments[position] = value
            assert_parse_error(name, function, arguments)


@functions("Pu", without=USES_ARGUMENTS)
def test_unsigned_numbers_wrap(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        if kind not in "Pu":
            continue
        for value in [2**64, -(2**64), 2**100, 3 * 2**64]:
            arguments = sample(name, kinds)
            arguments[position] = value
            assert_parsed(name, function, arguments)


@functions("P", without=OTHER_MESSAGE)
def test_pointers_reject_index_objects(name: str, function: Callable[..., Any], kinds: str) -> None:
    for position, kind in enumerate(kinds):
        if kind == "P":
            arguments = sample(name, kinds)
            arguments[position] = Index()
            assert_parse_error(name, function, arguments)


@functions("iulH", without=USES_ARGUMENTS)
def test_numbers_accept_index_objects(name: str, function: Callable[..., Any], kinds: str) -> None:
    arguments = [Index() if kind in "iulH" else value for kind, value in zip(kinds, sample(name, kinds))]
    assert_parsed(name, function, arguments)


@functions("PiulHf", without=USES_ARGUMENTS)
def test_bools_and_int_subclasses_are_accepted(name: str, function: Callable[..., Any], kinds: str) -> None:
    for one in [False, True, Int(0), Int(1)]:
        arguments = [one if kind in "PiulHf" else value for kind, value in zip(kinds, sample(name, kinds))]
        assert_parsed(name, function, arguments)


def test_numpy_integers_are_accepted_as_numbers_but_not_as_pointers() -> None:
    numpy = pytest.importorskip("numpy")
    assert acl.rt.set_device(numpy.int64(0)) == 0
    assert acl.rt.set_device(numpy.uint8(0)) == 0
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.malloc(numpy.int64(64), 0)
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.memcpy(numpy.uint64(1), 1, 1, 1, 0)
    ptr, ret = acl.rt.malloc(int(numpy.int64(64)), numpy.int32(0))
    assert ret == 0 and type(ptr) is int


def test_pointers_are_taken_modulo_2_64() -> None:
    assert acl.rt.set_device(0) == 0
    ptr, ret = acl.rt.malloc(64 + 2**64, 0)
    assert ret == 0
    assert acl.rt.free(ptr - 2**64) == 0
    assert acl.rt.malloc(-1, 0) == (0, 100000)


def test_unsigned_numbers_are_taken_modulo_2_32() -> None:
    assert acl.rt.set_device(0) == 0
    assert acl.rt.create_event_with_flag(2**32 + 8)[1] == 0
    assert acl.rt.get_device_info(2**32, 102) == acl.rt.get_device_info(0, 102)


def test_error_message_contains_the_dotted_name() -> None:
    with pytest.raises(TypeError, match=r"^acl\.rt\.memcpy_async args parse failed"):
        acl.rt.memcpy_async(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^acl\.init args parse failed"):
        acl.init(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [(None,), (1,), (b"x",), ("x", "y"), (None, 1), ("a\0b",)])
def test_init_rejects_wrong_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=PARSE):
        acl.init(*arguments)


@pytest.mark.parametrize(("arguments", "given"), [((), 0), ((len,), 1), ((len, [], 1), 3)])
def test_start_thread_reports_the_number_of_arguments(arguments: tuple[Any, ...], given: int) -> None:
    with pytest.raises(TypeError, match=rf"takes exactly 2 arguments \({given} given\)"):
        acl.util.start_thread(*arguments)


@pytest.mark.parametrize("arguments", [(), (1, 2), (None,), (1.0,), (Index(),)])
def test_get_event_id_rejects_wrong_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        acl.rt.get_event_id(*arguments)


def test_get_event_id_keeps_the_message_of_the_interpreter() -> None:
    with pytest.raises(TypeError, match="function takes exactly 1 argument"):
        acl.rt.get_event_id()  # type: ignore[call-arg]


def test_get_group_count_rejects_a_str() -> None:
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.get_group_count("x")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [5, "text", [], object()])
def test_exception_callback_must_be_callable(value: Any) -> None:
    with pytest.raises(TypeError):
        acl.rt.set_exception_info_callback(value)


def test_exception_callback_rejects_a_second_argument() -> None:
    with pytest.raises(TypeError, match=PARSE):
        acl.rt.set_exception_info_callback(None, None)  # type: ignore[call-arg]


@pytest.mark.parametrize("value", [None, 5, "text", [], ()])
def test_dictionary_arguments_reject_other_types(value: Any) -> None:
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
def test_numbers_in_dictionaries_out_of_range_raise(value: int) -> None:
    for call in [
        lambda: acl.rt.set_stream_attribute(0, 3, {"userCustomTag": value}),
        lambda: acl.rt.malloc_physical(64, {"memAttr": value}, 0),
        lambda: acl.rt.malloc_physical(64, {"location": {"id": value}}, 0),
        lambda: acl.rt.mem_get_allocation_granularity({"handleType": value}, 0),
    ]:
        with pytest.raises(ValueError):
            call()


def test_other_values_in_dictionaries_are_read_as_zero() -> None:
    assert acl.rt.set_device(0) == 0
    stream, ret = acl.rt.create_stream()
    assert ret == 0
    assert acl.rt.set_stream_attribute(stream, 3, {"userCustomTag": 7}) == 0
    assert acl.rt.set_stream_attribute(stream, 3, {"userCustomTag": "nine", "more": 1}) == 0
    assert acl.rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 0}, 0)


@pytest.mark.parametrize("value", [None, 5, (1,), "text", {1}])
def test_list_arguments_reject_other_types(value: Any) -> None:
    for position, call in [
        (1, lambda: acl.rt.notify_batch_reset(value)),
        (2, lambda: acl.rt.notify_set_import_pid(0, value)),
        (2, lambda: acl.rt.ipc_mem_set_import_pid("key", value)),
        (2, lambda: acl.rt.mem_set_pid_to_shareable_handle(0, value)),
    ]:
        with pytest.raises(ValueError, match=f"argument {position} only support the format of list"):
            call()


@pytest.mark.parametrize("element", [None, 1.0, "1", [1], Index()])
def test_list_elements_must_be_ints(element: Any) -> None:
    for call in [
        lambda: acl.rt.notify_batch_reset([0, element]),
        lambda: acl.rt.notify_set_import_pid(0, [1, element]),
        lambda: acl.rt.ipc_mem_set_import_pid("key", [1, element]),
        lambda: acl.rt.mem_set_pid_to_shareable_handle(0, [1, element]),
    ]:
        with pytest.raises(ValueError, match="get values from PyList failed"):
            call()


@pytest.mark.parametrize("length", [1024, 2**40])
def test_key_lengths_must_be_below_1024(length: int) -> None:
    with pytest.raises(ValueError):
        acl.rt.ipc_mem_get_export_key(0, 0, length, 0)
    with pytest.raises(ValueError):
        acl.rt.notify_get_export_key(0, length, 0)


@pytest.mark.parametrize("timeout", [-1, 2**32])
def test_notify_timeout_out_of_range_has_a_specific_message(timeout: int) -> None:
    with pytest.raises(TypeError, match="timeout"):
        acl.rt.wait_and_reset_notify(0, 0, timeout)


@pytest.mark.parametrize("value", [None, 5, "text", []])
def test_callbacks_must_be_callable(value: Any) -> None:
    with pytest.raises(TypeError, match="callable"):
        acl.rt.launch_callback(value, None, 1, 0)
    with pytest.raises(TypeError, match="callable"):
        acl.util.start_thread(value, None)


def test_group_details_raise_if_the_runtime_refuses() -> None:
    with pytest.raises(RuntimeError, match="207000"):
        acl.rt.get_group_info_detail(1, 0, 0)
