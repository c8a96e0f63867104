"""Rules for all tests."""

import os
from collections.abc import Generator

import pytest

pytest.register_assert_rewrite("tests.expectations")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a browser test that could not run is a failure: nobody reads the skips there."""
    report = yield
    if report.skipped and os.environ.get("CI") and item.get_closest_marker("browser"):
        report.outcome = "failed"
        report.longrepr = f"a browser test must run in CI, and it skipped: {report.longrepr}"
    return report
