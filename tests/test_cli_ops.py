"""`retrograd ops` and docs/operators.md: the table of operators, filtered, as text and as JSON."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import retrograd
from retrograd.catalogue import operators
from retrograd.cli.group import cli

ROOT = Path(__file__).resolve().parent.parent


def invoke(*arguments: str) -> Result:
    """Run `retrograd ops ARGUMENTS` in this process."""
    return CliRunner().invoke(cli, ["ops", *arguments])


def test_all_operators_are_listed_with_their_facts() -> None:
    """Each row has one line; views, in-place forms and nodes are what the engine really does."""
    told = json.loads(invoke("-f", "json").stdout)
    rows = {row["name"]: row for row in told["operators"]}

    assert told["schema"] == 1
    assert len(rows) == len(told["operators"]) > 450
    assert len(invoke().stdout.splitlines()) == len(rows) + 2
    x = retrograd.ones(2, 2, requires_grad=True)
    for name, row in rows.items():
        if (
            row["arguments"] == ["self"]
            and callable(getattr(retrograd.Tensor, name, None))
            and "float32" in row["dtypes"]
        ):
            half = x * 0.5
            result = getattr(half, name)()
            if isinstance(result, retrograd.Tensor) and result is not half:
                assert (result._base is not None) == row["view"], name
                assert (result.grad_fn.name() if result.grad_fn else "") == row["node"], name
            assert hasattr(retrograd.Tensor, name + "_") or not row["in_place"], name


def test_dtypes_are_those_that_kernels_take() -> None:
    """Spot checks of the measured dtypes against PyTorch's."""
    rows = {row.name: row.dtypes for row in operators()}

    assert rows["mul"] == rows["add"]
    assert set(rows["add"]) >= {"float16", "complex128", "uint8", "bool"}
    assert {"int64", "bool", "float32"} <= set(rows["sin"])
    assert not any(name.startswith("complex") for name in rows["floor"])
    assert "bool" not in rows["neg"]
    assert {"uint8", "int8", "int16", "int32", "int64", "bool"} <= set(rows["bitwise_and"])
    assert not any(name.startswith(("float", "complex")) for name in rows["bitwise_and"])


@pytest.mark.parametrize("path", ["linalg.vector_nrm", "fft.fft9", "special.bessel_j9", "nn.functional.softmx",
                                  "signal.windows.han", "softmx"])  # fmt: skip
def test_a_missing_name_names_the_nearest(path: str) -> None:
    """One sentence with the names that a user may have meant."""
    *modules, name = path.split(".")
    found = retrograd
    for part in modules:
        found = getattr(found, part)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; the nearest names are "):
        getattr(found, name)


def test_words_filter_by_name_and_node() -> None:
    """All words must occur, in upper or lower case; what nothing has is exit code 1 and one sentence."""
    names = [row["name"] for row in json.loads(invoke("SOFTMAX", "log", "-f", "json").stdout)["operators"]]
    nothing = invoke("<b>[red]", 'no"thing')

    assert "_log_softmax" in names
    assert all("log" in name for name in names)
    assert nothing.exit_code == 1
    assert "'<b>[red]' and 'no\"thing'" in nothing.stderr


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    """The suffix says the format; a folder is refused in one line."""
    target = tmp_path / "ops.json"

    assert invoke("sin", "-o", str(target)).exit_code == 0
    assert json.loads(target.read_text())["operators"]
    refused = invoke("sin", "-o", str(tmp_path))
    assert refused.exit_code == 3
    assert str(tmp_path) in refused.stderr


def test_page_is_up_to_date() -> None:
    """docs/operators.md is what `python docs/make_operators.py` writes, and every row's dtypes were measured."""
    maker = runpy.run_path(str(ROOT / "docs" / "make_operators.py"))
    measured = json.loads(maker["MEASURED"].read_text())

    assert (ROOT / "docs" / "operators.md").read_text(encoding="utf-8") == maker["page"]()
    assert sorted(measured) == sorted(row.name for row in operators())
