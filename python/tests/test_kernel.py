"""Kernels: CPU versions from a library, launched with every form of arguments that Python has."""

import shutil
import subprocess
import textwrap
from pathlib import Path

import acl
import pytest
from acl import rt

from support import INVALID_PARAM, NOT_SUPPORTED, SUCCESS, run_python

SOURCE = Path(__file__).resolve().parents[2] / "examples/clients/kernel/vector_add_cpu.c"
HEADERS = Path(str(acl.__file__)).parent / "softacl/include"


def test_kernel_without_cpu_version_is_refused() -> None:
    code = acl.util.bytes_to_ptr(b"machine code")
    binary, ret = rt.binary_load_from_data(code, 12, {})
    assert ret == SUCCESS
    assert rt.binary_get_function(binary, "no_such_kernel") == (0, NOT_SUPPORTED)
    assert "kernel no_such_kernel has no CPU version" in acl.get_recent_err_msg()
    assert rt.binary_unload(binary) == SUCCESS
    assert rt.binary_get_function(binary, "no_such_kernel") == (0, INVALID_PARAM)


@pytest.mark.skipif(shutil.which("gcc") is None or not HEADERS.is_dir(), reason="requires gcc and the wheel's headers")
def test_kernels_run_in_stream_order(tmp_path: Path) -> None:
    library = tmp_path / "libvector_add.so"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{HEADERS}", str(SOURCE), "-o", str(library)], check=True)
    program = """
        import array, struct
        import acl
        from acl import rt

        def ok(result):
            *values, code = result if isinstance(result, tuple) else (result,)
            assert code == 0, acl.get_recent_err_msg()
            return values[0] if values else None

        count, size = 1024, 4096
        ok(rt.set_device(0))
        stream = ok(rt.create_stream())
        binary = ok(rt.binary_load_from_data(acl.util.bytes_to_ptr(b"code"), 4, {}))
        function = ok(rt.binary_get_function(binary, "vector_add"))
        assert ok(rt.get_function_name(function, 64)) == "vector_add"
        assert rt.get_function_name(function, 3)[1] != 0
        x, y, z = (ok(rt.malloc(size, 0)) for _ in range(3))
        host = ok(rt.malloc_host(size))
        ones = array.array("f", [1.0] * count).tobytes()
        for target in (x, y):
            ok(rt.memcpy(target, size, acl.util.bytes_to_ptr(ones), size, 1))

        def launch_host(a, b, c):
            block = struct.pack("=QQQIxxxx", a, b, c, count)
            ok(rt.launch_kernel_with_host_args(
                function, 8, stream, {}, acl.util.bytes_to_ptr(block), len(block), [], 0))

        def launch_list(a, b, c):
            arguments = ok(rt.kernel_args_init(function))
            for value in (a, b, c):
                cell = struct.pack("=Q", value)
                ok(rt.kernel_args_append(arguments, acl.util.bytes_to_ptr(cell), 8))
            cell = struct.pack("=I", count)
            ok(rt.kernel_args_append(arguments, acl.util.bytes_to_ptr(cell), 4))
            ok(rt.kernel_args_finalize(arguments))
            ok(rt.launch_kernel_with_config(function, 8, stream, {}, arguments, 0))

        def launch_device(a, b, c):
            block = struct.pack("=QQQIxxxx", a, b, c, count)
            memory = ok(rt.malloc(len(block), 0))
            ok(rt.memcpy(memory, len(block), acl.util.bytes_to_ptr(block), len(block), 1))
            ok(rt.launch_kernel_v2(function, 8, memory, len(block), {}, stream))

        launch_host(x, y, z)      # 2
        launch_list(z, y, x)      # 3
        launch_device(x, z, y)    # 5
        ok(rt.memcpy_async(host, size, y, size, 2, stream))
        ok(rt.synchronize_stream(stream))
        print(set(array.array("f", acl.util.ptr_to_bytes(host, size))))
        try:
            rt.launch_kernel_with_host_args(function, 1, stream, {}, x, 32, [{}], 2)
        except ValueError:
            pass
        else:
            raise AssertionError("two placeholders in a list of one")
        assert rt.launch_kernel_with_host_args(function, 1, stream, {}, x, 32, [], 2) != 0
        ok(rt.binary_unload(binary))
    """
    for schedule in ("threads", "early", "late"):
        output = run_python(textwrap.dedent(program), SOFTACL_KERNELS=str(library), SOFTACL_SCHEDULE=schedule)
        assert output.strip() == "{5.0}"
