"""What is found does not depend on how a program is written: names, spellings of operators, comments, ``main()``."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import Pair, pairs, record
from other_words import in_other_words

from retrograd.inspect.diagnose import diagnose
from retrograd.inspect.findings import Finding

ALONE = [pair for pair in pairs() if not pair.twice]
HEALTHY = sorted(Path(__file__).parent.joinpath("healthy_programs").glob("*.py"))
STILL_BY_WORDS = frozenset({
    "checkpoint_mismatch_state",  # of its healthy twin equal runs are compared, in main() only
    "ctx_leak_by_helper",  # what keeps the graph is looked for among the module's own variables
    "graph_growth_list_replayed",  # likewise
    "frozen_parameter_misspelt",  # attributes are looked at when the recording ends, after main()
    "frozen_parameter_told_by_attribute",  # likewise
    "nondeterminism_saliency",  # equality is known by what is printed
    "silent_inplace_buffer_of_object",  # the line that writes is known by the name that it writes to
})  # fmt: skip
"""Programs whose bug is found as they are written and not in other words: this list is to become empty."""


def found(text: str, folder: Path) -> list[Finding]:
    """The findings of a program, whose random numbers start alike each time."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return diagnose(record(text, folder))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", [p for p in ALONE if p.name not in STILL_BY_WORDS], ids=lambda pair: pair.name)
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

    assert [(one.kind, one.line, one.message) for one in found(in_other_words(text), tmp_path)] == []
