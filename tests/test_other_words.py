"""What is found does not depend on how a program is written: names, spellings of operators, comments, ``main()``."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import Pair, pairs, record
from other_words import in_other_words

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.findings import Finding

ALONE = [pair for pair in pairs() if not pair.twice]
HEALTHY = sorted(Path(__file__).parent.joinpath("healthy_programs").glob("*.py"))


def found(text: str, folder: Path) -> list[Finding]:
    """The findings of a program, whose random numbers start alike each time."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return diagnose(record(text, folder))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", ALONE, ids=lambda pair: pair.name)
def test_bug_is_found_in_other_words(pair: Pair, tmp_path: Path) -> None:
    """The first finding has the same kind and line, and the healthy twin has none."""
    first = found(in_other_words(pair.buggy, runs_on_ours=not pair.torch_only), tmp_path)

    assert [(one.kind, one.line) for one in first[:1]] == [(pair.kind, pair.line)]
    assert [
        one.message for one in found(in_other_words(pair.healthy, runs_on_ours=not pair.torch_only), tmp_path)
    ] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_nothing_is_found_in_other_words(path: Path, tmp_path: Path) -> None:
    """A right program stays one."""
    text = path.read_text(encoding="utf-8")
    if text.splitlines()[0].strip() and not text.startswith("#"):
        text = f"#\n{text}"

    told = [one for one in found(in_other_words(text), tmp_path) if one.severity != "note"]  # comments may answer these
    assert [(one.kind, one.line, one.message) for one in told] == []
