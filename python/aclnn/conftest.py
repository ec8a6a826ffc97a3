"""Seeds of the tests of operators: a run repeats another one that had the same seed, whichever tests are chosen."""

import os
import random
import zlib
from typing import Any

import numpy as np
import pytest

# Tests of values are the same in every run unless the environment names another seed.
SEED = int(os.environ.get("ACLNN_SEED", "1"))


def pytest_report_header() -> str:
    return f"seed of the operators: {SEED} (set ACLNN_SEED for another)"


@pytest.fixture(autouse=True)
def seeded(request: Any) -> None:
    """Every test has its own seed, so that it fails alone as it fails among others."""
    seed = (SEED * 1_000_003 + zlib.crc32(request.node.nodeid.split("/")[-1].encode())) % 2**32
    random.seed(seed)
    np.random.seed(seed)


def pytest_runtest_logreport(report: Any) -> None:
    # The test of wild arguments prints another seed.
    if report.failed and "test_wild" not in report.nodeid:
        report.sections.append(("seed", f"ACLNN_SEED={SEED}"))
