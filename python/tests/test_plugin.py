"""Runs the pytest plugin as a user would: with a separate test file in a separate pytest."""

import os
import subprocess
import sys
import textwrap


def run(tmp_path, source, *options):
    (tmp_path / "test_inner.py").write_text(textwrap.dedent(source))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", *options, str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_each_test_gets_fresh_devices_and_its_chip(tmp_path):
    code, output = run(
        tmp_path,
        """
        import os
        import pytest

        def test_one(softacl):
            assert softacl.rt.malloc(1 << 20, 0)[1] == 0

        def test_two(softacl):
            free, total, ret = softacl.rt.get_mem_info(1)
            assert ret == 0 and free == total

        @pytest.mark.softacl(soc="Ascend910C", devices=3)
        def test_chip(softacl):
            assert softacl.get_soc_name() == "Ascend910_9392"
            assert softacl.rt.get_device_count() == (3, 0)

        def test_default_chip(softacl):
            assert softacl.get_soc_name() == "Ascend310P3"

        def test_without_softacl():
            assert "SOFTACL_SOC" not in os.environ
        """,
        "--softacl-soc",
        "Ascend310P",
    )
    assert code == 0, output
    assert "5 passed" in output


def test_marker_runs_the_test_once_per_schedule_and_seed(tmp_path):
    code, output = run(
        tmp_path,
        """
        import os
        import pytest

        @pytest.mark.softacl(schedules=["early", "late"], seeds=2)
        def test_orders(softacl, softacl_schedule):
            assert os.environ["SOFTACL_SCHEDULE"] == softacl_schedule

        @pytest.mark.softacl(schedules=["late"])
        def test_without_schedule_fixture(softacl):
            assert os.environ["SOFTACL_SCHEDULE"] == "late"
        """,
    )
    assert code == 0, output
    for name in ["test_orders[early]", "test_orders[late]", "test_orders[random:0]", "test_orders[random:1]"]:
        assert name in output
    assert "5 passed" in output


def test_unobserved_error_fails_the_test(tmp_path):
    code, output = run(
        tmp_path,
        """
        def launch(acl, stream):
            desc, ret = acl.rt.malloc(64, 0)
            assert ret == 0 and acl.rt.memset(desc, 64, 0x11, 64) == 0
            assert acl.rt.memcpy_async_with_desc(desc, 6, stream) == 0

        def test_unobserved(softacl):
            stream, ret = softacl.rt.create_stream()
            launch(softacl, stream)
            assert softacl.rt.destroy_stream(stream) == 0

        def test_observed(softacl):
            stream, ret = softacl.rt.create_stream()
            launch(softacl, stream)
            assert softacl.rt.synchronize_stream(stream) == 507001
        """,
    )
    assert code == 1, output
    assert "1 failed, 1 passed" in output
    assert "asynchronous errors that no wait returned" in output and "507001" in output


def test_failures_and_crashes_are_reported(tmp_path):
    code, output = run(
        tmp_path,
        """
        import os
        import signal

        def test_fails(softacl):
            assert softacl.rt.set_device(99) == 0

        def test_crashes(softacl):
            os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    assert code == 1, output
    assert "107001" in output and "SIGKILL" in output


def test_unknown_marker_option_is_an_error(tmp_path):
    code, output = run(
        tmp_path,
        """
        import pytest

        @pytest.mark.softacl(color="red")
        def test_wrong_option(softacl):
            pass
        """,
    )
    assert code != 0
    assert "color" in output and "schedules" in output


REUSE = """
    import ctypes
    import pytest

    SIZE = 4096

    def upload(acl, waits):
        stream, ret = acl.rt.create_stream()
        device, ret = acl.rt.malloc(SIZE, 0)
        staging, ret = acl.rt.malloc_host(SIZE)
        ctypes.memset(staging, 1, SIZE)
        assert acl.rt.memcpy_async(device, SIZE, staging, SIZE, 1, stream) == 0
        if waits:
            assert acl.rt.synchronize_stream(stream) == 0
        ctypes.memset(staging, 2, SIZE)
        assert acl.rt.synchronize_stream(stream) == 0
        assert acl.rt.free_host(staging) == 0

    @pytest.mark.softacl(check=True)
    def test_reuse(softacl):
        upload(softacl, waits=False)

    @pytest.mark.softacl(check=True)
    def test_wait(softacl):
        upload(softacl, waits=True)

    def test_unchecked(softacl):
        upload(softacl, waits=False)
"""


def test_proven_finding_fails_a_checked_test(tmp_path):
    code, output = run(tmp_path, REUSE)
    assert code == 1, output
    assert "1 failed, 2 passed" in output
    assert "H1: the source of task 1" in output and "4096 of 4096 bytes differ" in output
    assert "test_inner.py:12" in output and "fix: wait before changing the source" in output


def test_check_option_checks_every_test(tmp_path):
    code, output = run(tmp_path, REUSE, "--softacl-check")
    assert code == 1, output
    assert "2 failed, 1 passed" in output
