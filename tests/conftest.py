"""Rules for all tests."""

import os
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine.runner.model_loader import LoadedModel

MUST_RUN_IN_CI = ("browser", "kernels")

pytest.register_assert_rewrite("tests.expectations")


@pytest.fixture(scope="session")
def bfloat16() -> "LoadedModel":
    """The default model, loaded once for all that need it or its tokenizer."""
    from engine.runner.model_loader import load_model  # torch, which most rooms do without

    return load_model(dtype="bfloat16")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What must run in CI and could not is a failure: nobody reads the skips there."""
    report = yield
    must_run = [name for name in MUST_RUN_IN_CI if item.get_closest_marker(name)]
    if report.skipped and os.environ.get("CI") and must_run:
        report.outcome = "failed"
        report.longrepr = f"marked {must_run}, must run in CI, and skipped: {report.longrepr}"
    return report
