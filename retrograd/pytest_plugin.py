"""pytest plugin: ``--retrograd`` fails tests with faulty gradients or graphs; ``retrograd_trace`` records one.

Loaded by pytest wherever retrograd is installed, so that nothing heavy is imported before it is asked for.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Generator, Iterator
from typing import Any

import pytest

_SEVERITIES = ("error", "warning", "note")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--retrograd`` and ``--retrograd=SEVERITY``; several options, so that a path may follow the first."""
    group = parser.getgroup("retrograd", "gradients and backward graphs")
    group.addoption(
        "--retrograd",
        action="store_const",
        const="error",
        dest="retrograd",
        default=None,
        help="Fail tests that produce a gradient that is not finite or another finding of severity error.",
    )
    for severity in _SEVERITIES:
        group.addoption(
            f"--retrograd={severity}",
            action="store_const",
            const=severity,
            dest="retrograd",
            help=f"The same, for findings of severity {severity} and above.",
        )

    group.addoption(
        "--retrograd-watch",
        metavar="FOLDER",
        default=None,
        help="Watch each test that trains, and write its run to FOLDER, a file for each test.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of tests that are not to be checked."""
    config.addinivalue_line("markers", "no_retrograd: what this test does wrong it does on purpose; no --retrograd.")


@pytest.fixture
def retrograd_trace() -> Iterator[Any]:
    """The recording of this test: ``.findings``, ``.graph``, ``.recording``, ``.save(path)``."""
    from .inspect.blocks import debug

    with debug() as trace:
        yield trace


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the test, its fixtures included, if that was asked for."""
    folder = item.config.getoption("retrograd_watch")
    if folder is None:
        return (yield)
    from .inspect.training.run import watch

    os.makedirs(folder, exist_ok=True)
    run = watch(script=item.nodeid)
    try:
        return (yield)
    finally:
        run.close()
        if run.curves.columns:
            run.file = os.path.join(folder, re.sub(r"[^\w.-]+", "_", item.nodeid) + ".json")
            run.save()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record the test if requested, and fail it if the recording has findings."""
    severity = item.config.getoption("retrograd")
    if severity is None or item.get_closest_marker("no_retrograd") is not None:
        return (yield)
    from .inspect.blocks import debug

    trace = debug(check=True)
    try:
        with trace:
            result = yield
    except (Exception, pytest.fail.Exception) as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        _add_section(item, _texts(trace, severity, notes))
        raise
    texts = _texts(trace, severity)
    if texts and getattr(item, "_excinfo", None):  # a test of unittest that has failed, or was skipped
        _add_section(item, texts)
    elif texts:
        pytest.fail("retrograd: " + "\n".join(texts), pytrace=False)
    return result


def _texts(trace: Any, severity: str, notes: str = "") -> list[str]:
    """The messages about a test, except those that ``notes`` of its error already contain."""
    return [*_findings(trace, severity, notes), *_bad_gradients(trace), *_bad_results(trace)]


def _add_section(item: pytest.Item, texts: list[str]) -> None:
    """Add possible causes to the report of a test that fails by itself."""
    if texts:
        item.add_report_section("call", "retrograd", "\n".join(texts))


def _findings(trace: Any, severity: str, notes: str) -> list[str]:
    """Findings of a severity and above, with their lines and fixes, except those in ``notes``."""
    counted = _SEVERITIES[: _SEVERITIES.index(severity) + 1]
    texts = []
    for finding in trace.findings:
        if finding.severity in counted and finding.message not in notes:
            where = f"{finding.file}:{finding.line}: " if finding.file else ""
            remedy = f"\n  fix: {finding.remedy}" if finding.remedy else ""
            texts.append(f"{where}{finding.severity}: {finding.kind}: {finding.message}{remedy}")
    return texts


def _bad_gradients(trace: Any) -> list[str]:
    """Gradients of leaves that hold a NaN or an infinity."""
    texts: dict[str, None] = {}
    for event in trace.recording.events:
        if event.kind != "accumulate" or math.isfinite(event.data.get("grad_norm", 0.0)):
            continue
        name = trace.recording.tensors[event.data["tensor"]].name or "a leaf"
        bad = event.data.get("grad", {})
        where = f", the first at {bad['first_bad']}" if "first_bad" in bad else ""
        line = f"{event.source.file}:{event.source.line}: " if event.source else ""
        texts[f"{line}the gradient of {name} has {bad.get('nan', 0)} NaN and {bad.get('inf', 0)} inf{where}"] = None
    return list(texts)


def _bad_results(trace: Any) -> list[str]:
    """Non-finite gradients that ``autograd.grad`` returned, which belong to nodes that did not run."""
    texts: dict[str, None] = {}
    for event in trace.recording.events:
        if event.kind != "backward" or event.data.get("api") != "grad" or "snapshot" not in event.data:
            continue
        graph = trace.recording.graphs[event.data["snapshot"]]
        order, nan, inf = (graph.measures.get(name) for name in ("order", "out_nan_count", "out_inf_count"))
        for start, end, _, _ in graph.edges() if order and nan and inf else ():
            if order[start] is not None and order[end] is None and (nan[start] or inf[start]):
                line = f"{event.source.file}:{event.source.line}: " if event.source else ""
                name = graph.name[end] or "a tensor"
                texts[f"{line}the gradient of {name} that autograd.grad returns is not finite"] = None
    return list(texts)
