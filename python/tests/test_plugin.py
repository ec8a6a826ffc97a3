"""Runs the pytest plugin as a user would: with a separate test file in a separate pytest."""

import json
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
    for name in ["test_orders[early]", "test_orders[late]", "test_orders[random:1]", "test_orders[random:2]"]:
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


def test_seeds_option_runs_every_test_on_each_seed(tmp_path):
    code, output = run(
        tmp_path,
        """
        import os
        import pytest

        def test_any(softacl, softacl_schedule):
            assert os.environ["SOFTACL_SCHEDULE"] == softacl_schedule

        @pytest.mark.softacl(schedules=["late"])
        def test_own(softacl): ...

        @pytest.mark.softacl(seeds=1)
        def test_own_seeds(softacl): ...

        def test_without_softacl(): ...
        """,
        "--softacl-seeds",
        "3",
    )
    assert code == 0, output
    for name in ["test_any[random:1]", "test_any[random:3]", "test_own[late]", "test_own_seeds[random:1]"]:
        assert name in output
    assert "6 passed" in output


def test_wrong_chip_is_a_usage_error_that_lists_the_chips(tmp_path):
    code, output = run(tmp_path, "def test_any(softacl): ...", "--softacl-soc", "H100")
    assert code == 4, output
    assert "--softacl-soc" in output and "H100" in output and "Ascend910B" in output and "Ascend310P" in output
    code, output = run(
        tmp_path,
        """
        import pytest

        @pytest.mark.softacl(soc="H100")
        def test_any(softacl): ...
        """,
    )
    assert code != 0 and "1 passed" not in output
    assert "H100" in output and "Ascend310P" in output, output


def test_report_covers_the_whole_session(tmp_path):
    file = tmp_path / "report.json"
    code, output = run(tmp_path, REUSE, "--softacl-report", str(file))
    assert code == 1, output
    assert "softacl check: 2 proven" in output and "in 3 checked tests" in output
    report = json.loads(file.read_text())
    assert report["tests"] == 3
    proven = [finding for finding in report["findings"] if finding["severity"] == "PROVEN"]
    assert [finding["id"] for finding in proven] == ["H1", "H1"], "the two tests are different callers"
    names = [[test.rsplit("::", 1)[-1] for test in finding["tests"]] for finding in proven]
    assert names == [["test_reuse"], ["test_unchecked"]]
    code, output = run(tmp_path, REUSE, "--softacl-report", "/no/such/directory/r.json")
    assert code == 4 and "--softacl-report" in output


GATES = """
    import ctypes
    import pytest
    from softacl import HiddenSync, no_hidden_sync, timeline

    SIZE = 1 << 20

    def objects(acl):
        stream, ret = acl.rt.create_stream()
        device, ret = acl.rt.malloc(SIZE, 0)
        pinned, ret = acl.rt.malloc_host(SIZE)
        return stream, device, pinned

    def test_clean_region(softacl):
        stream, device, pinned = objects(softacl)
        with no_hidden_sync(allow=["synchronize_stream"]):
            assert softacl.rt.memcpy_async(device, SIZE, pinned, SIZE, 1, stream) == 0
            assert softacl.rt.synchronize_stream(stream) == 0

    def test_hidden_wait(softacl):
        stream, device, pinned = objects(softacl)
        pageable = ctypes.create_string_buffer(SIZE)
        with pytest.raises(HiddenSync) as raised:
            with no_hidden_sync(name="upload"):
                softacl.rt.memcpy_async(device, SIZE, ctypes.addressof(pageable), SIZE, 1, stream)  # line 25
                softacl.rt.memset(device, SIZE, 0, SIZE)
        first, second = raised.value.calls
        assert first.startswith("upload: aclrtMemcpyAsync at ") and "test_inner.py:25" in first, first
        assert "pageable" in first and "aclrtMemset" in second

    def test_unknown_function(softacl):
        with pytest.raises(ValueError, match="wait_for_it"):
            with no_hidden_sync(allow=["wait_for_it"]):
                pass

    @pytest.mark.softacl(no_hidden_sync=["synchronize_stream"])
    def test_marked_clean(softacl):
        stream, device, pinned = objects(softacl)
        assert softacl.rt.synchronize_stream(stream) == 0

    @pytest.mark.softacl(no_hidden_sync=True)
    def test_marked_waits(softacl):
        stream, device, pinned = objects(softacl)
        assert softacl.rt.synchronize_stream(stream) == 0
"""


def test_hidden_waits_are_reported_with_their_lines(tmp_path):
    for options in [[], ["--softacl-check"], ["--softacl-schedule", "late"]]:
        code, output = run(tmp_path, GATES, *options)
        assert code == 1, output
        assert "1 failed, 4 passed" in output, output
        assert "1 call waited" in output and "aclrtSynchronizeStream at" in output


def test_option_makes_every_test_a_region(tmp_path):
    test = """
        import pytest

        def test_waits(softacl):
            stream, ret = softacl.rt.create_stream()
            assert softacl.rt.synchronize_stream(stream) == 0

        @pytest.mark.softacl(no_hidden_sync=False)
        def test_may_wait(softacl):
            stream, ret = softacl.rt.create_stream()
            assert softacl.rt.synchronize_stream(stream) == 0

        def test_other(): ...
    """
    code, output = run(tmp_path, test, "--softacl-no-hidden-sync")
    assert code == 1 and "1 failed, 2 passed" in output and "aclrtSynchronizeStream at" in output, output
    code, output = run(tmp_path, test, "--softacl-no-hidden-sync", "--softacl-allow-sync=synchronize_stream")
    assert code == 0 and "3 passed" in output, output


def test_timeline_asserts_overlap_and_stalls(tmp_path):
    code, output = run(
        tmp_path,
        """
        import pytest
        from softacl import timeline

        SIZE = 1 << 20

        def test_timeline(softacl):
            stream, ret = softacl.rt.create_stream()
            device, ret = softacl.rt.malloc(SIZE, 0)
            pinned, ret = softacl.rt.malloc_host(SIZE)
            with timeline() as seen:
                assert softacl.rt.memcpy_async(device, SIZE, pinned, SIZE, 1, stream) == 0
                assert softacl.rt.synchronize_stream(stream) == 0
                assert softacl.rt.memcpy_async(pinned, SIZE, device, SIZE, 2, stream) == 0
                assert softacl.rt.synchronize_stream(stream) == 0
            upload, = seen.find("H2D")
            assert 0 < upload.milliseconds < 10_000
            seen.assert_overlaps("H2D", "aclrtSynchronizeStream")
            with pytest.raises(AssertionError, match="did not overlap"):
                seen.assert_overlaps("H2D", "D2H")
            with pytest.raises(AssertionError, match="no 'kernel'; it has: .*H2D"):
                seen.assert_overlaps("H2D", "kernel")
            seen.assert_max_host_stall(60_000)
            with pytest.raises(AssertionError, match="aclrtSynchronizeStream"):
                seen.assert_max_host_stall(0)
            seen.assert_max_host_stall(0, allow=["synchronize_stream", "memcpy_async"])

        @pytest.mark.softacl(check=True)
        def test_not_under_the_checker(softacl):
            with pytest.raises(RuntimeError, match="under the checker"):
                with timeline():
                    pass
        """,
    )
    assert code == 0, output
    assert "2 passed" in output


ALLOCATOR = """
    import ctypes
    import pytest
    from softacl import annotate_alloc, annotate_free

    SIZE = 4096

    def use_block(acl, frees_first):
        stream, ret = acl.rt.create_stream()
        block, ret = acl.rt.malloc(SIZE, 0)
        result, ret = acl.rt.malloc_host(SIZE)
        annotate_alloc(block, SIZE, stream)
        assert acl.rt.memset_async(block, SIZE, 7, SIZE, stream) == 0
        if frees_first:
            annotate_free(block, SIZE, stream)
        assert acl.rt.memcpy_async(result, SIZE, block, SIZE, 2, stream) == 0
        if not frees_first:
            annotate_free(block, SIZE, stream)
        assert acl.rt.synchronize_stream(stream) == 0
        assert ctypes.string_at(result, SIZE) == bytes([7]) * SIZE
        assert acl.rt.free(block) == acl.rt.free_host(result) == acl.rt.destroy_stream(stream) == 0

    @pytest.mark.softacl(check=True)
    def test_free_before_use(softacl):
        use_block(softacl, frees_first=True)

    @pytest.mark.softacl(check=True)
    def test_free_after_use(softacl):
        use_block(softacl, frees_first=False)

    @pytest.mark.softacl(check=False)
    def test_without_the_checker(softacl):
        use_block(softacl, frees_first=True)
"""


def test_annotated_block_is_not_used_after_its_free(tmp_path):
    file = tmp_path / "report.json"
    code, output = run(tmp_path, ALLOCATOR, "--softacl-report", str(file))
    assert code == 1, output
    assert "2 passed" in output, output
    findings = [
        (finding["id"], [test.rsplit("::", 1)[-1] for test in finding["tests"]])
        for finding in json.loads(file.read_text())["findings"]
    ]
    assert findings == [("L3", ["test_free_before_use"])], output
