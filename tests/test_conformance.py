"""Every must-have row of the specification has a test, and the page that says so is up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def conformance() -> ModuleType:
    """The script that makes the page."""
    spec = importlib.util.spec_from_file_location("make_conformance", ROOT / "docs" / "make_conformance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_rows_are_known(conformance: ModuleType) -> None:
    """The specification has 265 rows, 201 of them must-have."""
    rows = conformance.rows()

    assert len(rows) == 265
    assert sum(r.verdict == "must-have" for r in rows) == 201


def test_every_must_have_row_has_a_test(conformance: ModuleType) -> None:
    """A row without a test is a row that nobody checks."""
    named = conformance.tests_by_row()

    assert [r.id for r in conformance.rows() if r.verdict == "must-have" and r.id not in named] == []


def test_page_is_up_to_date(conformance: ModuleType) -> None:
    """docs/conformance.md says what the tests say; ``python docs/make_conformance.py`` rewrites it."""
    assert conformance.page() == conformance.PAGE.read_text(encoding="utf-8")
