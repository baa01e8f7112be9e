"""Settings for the whole test suite: one thread per kernel, steady hypothesis, and no silent loss of the oracle."""

from __future__ import annotations

import faulthandler
import gc
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Takes effect because nothing above imports NumPy; the suite itself runs in several processes.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Or else every program that the tests start compiles the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("steady")

# A shell starts what runs in its background with SIGINT ignored, and programs that the tests interrupt inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# CI sets this: a test that skips itself for want of PyTorch has then failed, so a green run really compared with it.
ORACLE_REQUIRED = os.environ.get("RETROGRAD_REQUIRE_ORACLE") == "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--accept`` writes what golden files should hold now; look at the difference before you commit it."""
    parser.addoption("--accept", action="store_true", help="write the golden files anew instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    """Stop at once if PyTorch must be there and is not; else watch for tests that hang."""
    if ORACLE_REQUIRED and importlib.util.find_spec("torch") is None:
        raise pytest.UsageError("RETROGRAD_REQUIRE_ORACLE=1 but torch is not installed: pip install '.[oracle]'")
    config.pluginmanager.register(Watchdog())
    gc.disable()  # until all tests are collected


def pytest_collection_finish() -> None:
    """Keep the collector off the tests themselves: 27,000 of them make each full collection last a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


class Watchdog:
    """Prints every thread's stack when one test hangs for minutes.

    Started anew by the first test after a while only: pytest's ``faulthandler_timeout`` starts a thread and waits for
    its end in each of many thousand tests.
    """

    LIMIT, RENEWED_AFTER = 240, 30

    def __init__(self) -> None:
        self._stderr = os.dup(2)  # before pytest captures what tests write
        self._due = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Start anew, if the last start is long ago."""
        if (now := time.monotonic()) >= self._due:
            faulthandler.dump_traceback_later(self.LIMIT, file=self._stderr)
            self._due = now + self.RENEWED_AFTER

    def pytest_unconfigure(self) -> None:
        """Stop."""
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """Keep it off what a file's tests left in caches, too, or those that call it pay for all files before them."""
    result = yield
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test in which recording or diagnosis went wrong unseen, unless it is meant to go wrong there."""
    for problems in _own_problems():
        problems.clear()
    result = yield
    for problems in _own_problems():
        if problems and item.get_closest_marker("own_problems") is None:
            pytest.fail(f"retrograd failed behind the program's back: {problems[0]}")
    return result


def _own_problems() -> list[list[str]]:
    """Return what went wrong in recordings of PyTorch and in diagnoses, as far as these are loaded."""
    homes = {"retrograd.inspect.sources.torch_.problems": "PROBLEMS", "retrograd.inspect.diagnosis": "FAILURES"}
    return [getattr(sys.modules[home], name) for home, name in homes.items() if home in sys.modules]


NEEDED = ("could not import 'torch", "could not import 'mpi4py")


def _fail_if_oracle_was_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn "skipped: could not import 'torch'" into a failure, and the same for MPI."""
    if ORACLE_REQUIRED and report.skipped and any(reason in str(report.longrepr) for reason in NEEDED):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped although it is required here: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Watch the tests for skips that must not be."""
    report = yield
    _fail_if_oracle_was_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Watch whole files, too: importorskip at the top of one skips it while it is collected."""
    report = yield
    _fail_if_oracle_was_skipped(report)
    return report
