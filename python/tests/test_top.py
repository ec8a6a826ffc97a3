"""Functions of `acl` itself."""

import json
import math
import pathlib
import threading

import acl
import pytest
from acl import rt

from support import (
    INVALID_DEVICEID,
    INVALID_FILE,
    INVALID_PARAM,
    NOT_SUPPORTED,
    REPEAT_FINALIZE,
    REPEAT_INITIALIZE,
    SUCCESS,
    TEST_TIMEOUT,
    run_python,
)


@pytest.mark.bare
def test_init_is_counted_and_finalize_ends_it() -> None:
    assert acl.init() == SUCCESS
    assert acl.init() == REPEAT_INITIALIZE
    assert acl.finalize_reference() == (1, SUCCESS)
    assert acl.finalize_reference() == (0, SUCCESS)
    assert acl.finalize_reference()[1] == REPEAT_FINALIZE
    assert acl.init() == SUCCESS
    assert acl.init() == REPEAT_INITIALIZE
    assert acl.finalize() == SUCCESS
    assert acl.finalize() == REPEAT_FINALIZE


@pytest.mark.bare
def test_init_accepts_an_empty_path() -> None:
    assert acl.init("") == SUCCESS
    assert acl.finalize() == SUCCESS


@pytest.mark.bare
def test_init_reads_a_configuration_file(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "acl.json"
    config.write_text(json.dumps({"err_msg_mode": "0"}), encoding="utf-8")
    assert acl.init(str(config)) == SUCCESS
    assert acl.finalize() == SUCCESS


@pytest.mark.bare
def test_init_sets_the_default_device(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "acl.json"
    config.write_text(json.dumps({"defaultDevice": {"default_device": "1"}}), encoding="utf-8")
    program = """
import sys, acl
assert acl.init(sys.argv[1]) == 0
ptr, ret = acl.rt.malloc(64, 0)
assert ret == 0, ret
print(acl.rt.pointer_get_attributes(ptr)[0]["location"])
stream, ret = acl.rt.create_stream()
assert ret == 0, ret
host, ret = acl.rt.malloc_host(64)
assert ret == 0, ret
assert acl.rt.memcpy_async(ptr, 64, host, 64, 1, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
"""
    assert run_python(program, str(config)).strip() == "{'id': 1, 'type': 1}"


@pytest.mark.bare
def test_init_refuses_a_missing_file(tmp_path: pathlib.Path) -> None:
    assert acl.init(str(tmp_path / "missing.json")) == INVALID_FILE


@pytest.mark.bare
def test_runtime_works_without_init() -> None:
    run_python("""
import acl
assert acl.rt.set_device(0) == 0
assert acl.rt.malloc(64, 0)[1] == 0
assert acl.finalize() == 0
""")


@pytest.mark.bare
def test_get_version_returns_1_17_0() -> None:
    assert acl.get_version() == (1, 17, 0, SUCCESS)


@pytest.mark.bare
def test_get_version_str_refuses_unknown_packages() -> None:
    version, ret = acl.get_version_str("runtime")
    assert ret == SUCCESS and version[0].isdigit()
    assert acl.get_version_str("no-such-package") == ("", INVALID_FILE)


@pytest.mark.bare
def test_get_cann_version_has_the_documented_keys() -> None:
    version, ret = acl.get_cann_version(0)
    assert ret == SUCCESS
    keys = ["version", "major_version", "minor_version", "release_version", "patch_version", "reserved"]
    assert list(version) == keys
    assert all(isinstance(value, str) for value in version.values())
    assert version["version"].startswith(version["major_version"] + ".")
    assert acl.get_cann_version(99)[1] == INVALID_PARAM


@pytest.mark.bare
def test_get_soc_name_returns_the_configured_chip() -> None:
    name = acl.get_soc_name()
    assert isinstance(name, str) and name.upper().startswith("ASCEND")
    assert run_python("import acl; print(acl.get_soc_name())", SOFTACL_SOC="Ascend310P3").strip() == "Ascend310P3"


def test_get_recent_err_msg_returns_each_message_once() -> None:
    assert acl.get_recent_err_msg() is None
    assert rt.free(0) == INVALID_PARAM
    message = acl.get_recent_err_msg()
    assert isinstance(message, str) and "aclrtFree" in message and "100000" in message
    assert acl.get_recent_err_msg() is None


def test_get_recent_err_msg_is_per_thread() -> None:
    assert rt.free(0) == INVALID_PARAM
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(acl.get_recent_err_msg()))
    thread.start()
    thread.join(TEST_TIMEOUT)
    assert seen == [None]
    assert acl.get_recent_err_msg() is not None


@pytest.mark.bare
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_app_log_accepts_every_level(level: int) -> None:
    assert acl.app_log(level, "a text with %s and %d in it") is None


@pytest.mark.bare
def test_app_log_writes_the_text_unchanged() -> None:
    program = "import acl, os; os.dup2(1, 2); acl.app_log(3, '100 %s are %d')"
    assert "100 %s are %d" in run_python(program, SOFTACL_LOG="1")


@pytest.mark.bare
def test_get_device_capability_refuses_a_missing_device() -> None:
    for info in [0, 1]:
        value, ret = acl.get_device_capability(0, info)
        assert ret == SUCCESS and value > 0
    assert acl.get_device_capability(99, 0)[1] == INVALID_DEVICEID


@pytest.mark.bare
def test_listed_cann_attributes_can_be_queried() -> None:
    attributes, count, ret = acl.get_cann_attribute_list()
    assert ret == SUCCESS and count == len(attributes) > 0
    for attribute in attributes:
        assert acl.get_cann_attribute(attribute)[1] == SUCCESS
    assert acl.get_cann_attribute(12345)[1] in (INVALID_PARAM, NOT_SUPPORTED)


@pytest.mark.bare
@pytest.mark.parametrize(
    ("kind", "size"), [(0, 4), (1, 2), (2, 1), (3, 4), (4, 1), (6, 2), (9, 8), (11, 8), (27, 2), (-1, 0), (999, 0)]
)
def test_data_type_size_returns_bytes(kind: int, size: int) -> None:
    assert acl.data_type_size(kind) == size


@pytest.mark.bare
@pytest.mark.parametrize(
    ("value", "bits"),
    [(0.0, 0), (1.0, 0x3C00), (-2.0, 0xC000), (1.5, 0x3E00), (65504.0, 0x7BFF), (math.inf, 0x7C00), (2, 0x4000)],
)
def test_half_precision_round_trip(value: float, bits: int) -> None:
    assert acl.float_to_float16(value) == bits
    assert acl.float16_to_float(bits) == value


@pytest.mark.bare
def test_half_precision_handles_overflow_and_nan() -> None:
    assert acl.float_to_float16(1e30) == 0x7C00
    assert acl.float_to_float16(1e300) == 0x7C00
    assert math.isnan(acl.float16_to_float(0x7E00))
    assert math.isnan(acl.float16_to_float(-1))  # 0xffff
    assert acl.float16_to_float(0x13C00) == 1.0


@pytest.mark.bare
def test_data_buffer_fields_can_be_updated() -> None:
    buffer = acl.create_data_buffer(0x1000, 64)
    assert buffer != 0
    assert acl.get_data_buffer_addr(buffer) == 0x1000
    assert acl.get_data_buffer_size(buffer) == acl.get_data_buffer_size_v2(buffer) == 64
    assert acl.update_data_buffer(buffer, 0x2000, 2**40) == SUCCESS
    assert acl.get_data_buffer_addr(buffer) == 0x2000
    assert acl.get_data_buffer_size_v2(buffer) == 2**40
    assert acl.destroy_data_buffer(buffer) == SUCCESS


@pytest.mark.bare
def test_invalid_data_buffers_are_refused() -> None:
    assert acl.destroy_data_buffer(0) == INVALID_PARAM
    assert acl.update_data_buffer(0, 1, 1) == INVALID_PARAM
    assert acl.get_data_buffer_addr(0) == 0
    assert acl.get_data_buffer_size(0) == 0
