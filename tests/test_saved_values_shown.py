"""What nodes show as ``_saved_<name>`` and ``_raw_saved_<name>``, before backward and after it, as in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from many_cases import each
from op_runs import array, is_tensor, quiet, run
from op_samples import Sample, all_samples

import retrograd

torch = pytest.importorskip("torch")

FIRST_OF_NAME = list({sample.name: sample for sample in reversed(all_samples())}.values())[::-1]
OTHER_NAMES = {
    "AddmmBackward0", "EmbeddingBagBackward0", "MmBackward0", "PackPaddedSequenceBackward0",
    "ScaledDotProductFlashAttentionForCpuBackward0", "SparseAddmmBackward0", "SumBackward1",
    "TriangularSolveBackward0", "TrilinearBackward0",
}  # fmt: skip
"""Nodes that keep other values than PyTorch's; docs/compatibility.md lists them."""


def node_pairs(ours: Any, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """Nodes of two graphs side by side, as far as the graphs are alike."""
    todo, seen = [(ours.grad_fn, theirs.grad_fn)], set()
    while todo:
        a, b = todo.pop()
        if a is None or b is None or a.name() != b.name() or b in seen:
            continue
        seen.add(b)
        yield a, b
        todo += [(p, q) for (p, _), (q, _) in zip(a.next_functions, b.next_functions, strict=False)]


def saved_names(node: Any) -> set[str]:
    """The names of a node that have to do with saved values."""
    return {name for name in dir(node) if name.startswith(("_saved_", "_raw_saved_"))}


def pairs_of(sample: Sample) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Nodes of a sample on both engines, and both runs."""
    with quiet():
        runs = [run(retrograd, sample), run(torch, sample)]
    found = [pair for a, b in zip(runs[0].outputs, runs[1].outputs, strict=False) for pair in node_pairs(a, b)]
    return found, runs


def read(node: Any, name: str) -> Any:
    """A saved value in a form that can be compared; the beginning of the message where reading it is an error."""
    try:
        return plain(getattr(node, name))
    except RuntimeError as error:
        return str(error)[:60]


def plain(value: Any) -> Any:
    """Tensors by dtype and shape (their values are compared by gradients), records by their kind."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if is_tensor(value):
        return str(value.dtype), tuple(value.shape)
    return type(value).__name__ if hasattr(value, "register_hooks") else value


def test_names() -> None:
    """Nodes show saved values under PyTorch's names, and no others."""

    def agree(sample: Sample) -> None:
        for a, b in pairs_of(sample)[0]:
            if b.name() not in OTHER_NAMES:
                assert saved_names(a) == saved_names(b), b.name()

    each(FIRST_OF_NAME, agree)


def test_after_release() -> None:
    """Backward frees tensors, whose names then raise PyTorch's error; numbers, sizes and what was never kept stay."""

    def agree(sample: Sample) -> None:
        pairs, runs = pairs_of(sample)
        before = [{name: read(a, name) for name in saved_names(a) & saved_names(b)} for a, b in pairs]
        with quiet():
            for r in runs:
                outputs = r.outputs
                r.engine.autograd.grad(outputs, r.leaves, [r.engine.ones_like(o) for o in outputs], allow_unused=True)
        for (a, b), was in zip(pairs, before, strict=True):
            if b.name() in OTHER_NAMES:
                continue
            for name, value in was.items():
                now, wanted = read(a, name), read(b, name)
                freed = "second time" in str(wanted)
                assert ("second time" in str(now)) == freed, (b.name(), name, now, wanted)
                assert freed or repr(now) == repr(value), (b.name(), name)

    each([s for s in FIRST_OF_NAME if s.grad and run(torch, s).outputs], agree)


@pytest.mark.parametrize("engine", [retrograd, torch])
def test_numbers_after_release(engine: Any) -> None:
    """Parameters, sizes and operands that were not kept can be read after backward; tensors cannot."""
    x = engine.tensor([[3.0, 4.0]], requires_grad=True)
    power, product = x**2.5, x * engine.tensor(2.0)
    total = (power + product).sum(1, keepdim=True)
    picked = total[engine.tensor([0])]
    picked.sum().backward()

    assert power.grad_fn._saved_exponent == 2.5
    assert product.grad_fn._saved_self is None
    assert (total.grad_fn._saved_dim, total.grad_fn._saved_keepdim) == ((1,), True)
    assert total.grad_fn._saved_self_sym_sizes == (1, 2)
    for node, name in (
        (power.grad_fn, "_saved_self"),
        (product.grad_fn, "_saved_other"),
        (picked.grad_fn, "_saved_indices"),
    ):
        with pytest.raises(RuntimeError, match="second time"):
            getattr(node, name)
    with pytest.raises(RuntimeError, match="second time"):
        picked.sum().backward()


@pytest.mark.parametrize("engine", [retrograd, torch])
def test_hooks_on_one_of_several_results(engine: Any) -> None:
    """``register_hooks`` on the record of one result of several packs that one, and backward unpacks it."""
    x = engine.tensor([[2.0, 0.5], [0.5, 3.0]], requires_grad=True)
    values, _ = engine.linalg.eigh(x)
    seen: list[str] = []

    def pack(t: Any) -> Any:
        seen.append(f"pack {tuple(t.shape)}")
        return t

    def unpack(t: Any) -> Any:
        seen.append(f"unpack {tuple(t.shape)}")
        return t

    node = values.grad_fn
    node._raw_saved_eigenvectors.register_hooks(pack, unpack)
    values.sum().backward()

    assert seen == ["pack (2, 2)", "unpack (2, 2)"]
    np.testing.assert_allclose(array(x.grad), np.eye(2), atol=1e-6)


@pytest.mark.parametrize("engine", [retrograd, torch])
@pytest.mark.parametrize("name", ["elu", "celu", "leaky_relu"])
def test_in_place_activations_keep_their_result(engine: Any, name: str) -> None:
    """The in-place form keeps what it wrote, so a later write is noticed, and negative slopes are refused."""
    function = getattr(engine.nn.functional, name)
    x = engine.tensor([-1.0, 2.0], requires_grad=True)
    written = function(x * 1, 0.3, inplace=True)
    assert "_saved_result" in dir(written.grad_fn)
    assert "_saved_self" not in dir(written.grad_fn)
    with engine.no_grad():
        written.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        written.sum().backward()

    negative = function(x * 1, -0.5, inplace=True)
    with pytest.raises(RuntimeError, match="triggered with a negative slope"):
        negative.sum().backward()
