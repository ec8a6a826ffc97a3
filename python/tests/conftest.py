"""Fixtures: every test starts with a fresh device 0, and all devices are reset after it."""

from typing import Iterator

import pytest
from acl import rt
import acl

from support import Reporter, create_stream


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bare: the test starts without a device")


def _reset_everything() -> None:
    count, ret = rt.get_device_count()
    assert ret == 0
    for device in range(count):
        rt.reset_device_force(device)
    rt.get_last_error(0)
    acl.get_recent_err_msg()


@pytest.fixture(autouse=True)
def device(request: pytest.FixtureRequest) -> Iterator[int]:
    """Device 0, set before the test and reset after it."""
    bare = request.node.get_closest_marker("bare") is not None
    if not bare:
        assert rt.set_device(0) == 0
        rt.get_last_error(0)
        acl.get_recent_err_msg()
    yield 0
    if not bare:
        rt.reset_device(0)
    _reset_everything()


@pytest.fixture
def stream(device: int) -> int:
    """A stream on device 0."""
    return create_stream()


@pytest.fixture
def reporter(stream: int) -> Iterator[Reporter]:
    """A thread that runs the callbacks of `stream`."""
    reporter = Reporter(stream)
    yield reporter
    reporter.close()
