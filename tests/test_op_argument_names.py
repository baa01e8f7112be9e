"""Arguments by name: every public function takes PyTorch's own names and defaults, and says so where one misfits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from op_runs import array, flat, is_tensor, run
from op_samples import Sample, all_samples
from operator_sweep import compared
from torch_signatures import REQUIRED, matching

import retrograd
from retrograd.engine.calls.overload_choice import signatures

torch = pytest.importorskip("torch")


def first_samples() -> list[Sample]:
    """One sample of each function that PyTorch declares by a schema, with as many arguments as there are."""
    by_name: dict[str, Sample] = {}
    for sample in all_samples():
        if compared(sample) and signatures(sample.name) and matching(sample.name, sample.args, sample.kwargs):
            longest = by_name.get(sample.name)
            if longest is None or len(sample.args) > len(longest.args):
                by_name[sample.name] = sample
    return list(by_name.values())


def by_name(sample: Sample) -> Sample:
    """All positional arguments by PyTorch's names, and all that were left out as their defaults."""
    found = matching(sample.name, sample.args, sample.kwargs)[0]
    names = [a.name for a in found if not a.keyword_only]
    named = {"input" if n == "self" else n: v for n, v in zip(names, sample.args, strict=False)} | sample.kwargs
    absent = {a.name: a.default for a in found if a.default is not REQUIRED and a.name not in named}
    absent = {k: v for k, v in absent.items() if k not in ("layout", "device", "pin_memory")}
    return replace(sample, args=(), kwargs={**absent, **named})


def values(sample: Sample) -> list[Any]:
    """What a call gives, as arrays and plain values."""
    return [array(r).tolist() if is_tensor(r) else r for r in run(retrograd, sample).results]


def test_arguments_go_by_pytorchs_names() -> None:
    """Every function gives the same with its arguments by name and its defaults spelled out."""
    differ = []
    for sample in first_samples():
        try:
            same = repr(values(by_name(sample))) == repr(values(sample))
        except TypeError as error:
            same = error
        if same is not True:
            differ.append(f"{by_name(sample).name} {sorted(by_name(sample).kwargs)}: {same}")
    assert differ == []


MISFITS: dict[str, Any] = {
    "a number for a matrix": lambda t: t.mm(t.ones(2, 2), 2),
    "a list for a tensor": lambda t: t.outer([1.0], t.ones(2)),
    "nothing for a tensor": lambda t: t.linalg.solve(t.ones(2, 2), None),
    "a word for a number": lambda t: t.quantile(t.ones(3), "half"),
    "a tuple for a dimension": lambda t: t.index_add(t.ones(3), (0, 1), t.tensor([0]), t.ones(1)),
    "a word for a flag": lambda t: t.cholesky_solve(t.ones(2, 2), t.tensor(1.0), "upper"),
    "a fraction among sizes": lambda t: t.nn.functional.avg_pool2d(t.ones(2), [1.0]),
    "a number in a list of tensors": lambda t: t.einsum("i,i", t.ones(2), 0.5),
    "a number in place": lambda t: t.ones(2).xlogy_(None),
    "no dimension": lambda t: t.cumsum(t.ones(2)),
    "an unknown name": lambda t: t.cumsum(t.ones(2), 0, speed=1),
    "out where there is none": lambda t: t.isfinite(t.ones(2), out=t.ones(2)),
    "none of several overloads": lambda t: t.searchsorted(t.ones(2), "text"),
}


@pytest.mark.parametrize("what", MISFITS)
def test_an_argument_that_misfits_is_named_as_pytorch_names_it(what: str) -> None:
    """The same type of error, and the same sentence up to the list of overloads."""
    said = []
    for engine in (torch, retrograd):
        with pytest.raises(TypeError) as caught:
            MISFITS[what](engine)
        said.append(str(caught.value).splitlines()[0].strip())
    assert said[0] == said[1]


def test_errors_of_values_stay_themselves() -> None:
    """Arguments of the right kinds fail with their own error, under whatever names they were given."""
    with pytest.raises(RuntimeError, match="singular"):
        retrograd.linalg.inv(A=retrograd.zeros(2, 2))
    with pytest.raises(RuntimeError, match="must match the size"):
        retrograd.add(retrograd.ones(2), x2=retrograd.ones(3))


def test_names_of_numpy_are_taken_too() -> None:
    """``x``, ``x2``, ``axis`` and ``keepdims``, as PyTorch takes them."""
    x = retrograd.arange(6.0).reshape(2, 3)
    assert retrograd.sum(x, axis=1, keepdims=True).shape == (2, 1)
    assert flat(retrograd.add(x, x2=x))[0].equal(x + x)
    assert retrograd.linalg.vector_norm(x=retrograd.eye(1)).item() == 1.0


FORMS: dict[str, Any] = {
    "the rest by name": lambda t, x: [x.permute(dims=(1, 0)), x.reshape(shape=(3, 2)), x.view(size=(6,)),
                                      x.expand(size=(2, 3)), x.flip(dims=(0,)), x.tile(dims=(2,)),
                                      x.new_zeros(size=(2,)), t.permute(input=x, dims=(1, 0))],
    "axes of swapaxes": lambda t, x: t.swapaxes(input=x, axis0=0, axis1=1),
    "pieces": lambda t, x: [*x.tensor_split(sections=2), *x.tensor_split(indices=(1,)), *t.hsplit(x, sections=3)],
    "memory that is pinned": lambda t, x: t.full_like(x, 2.0, pin_memory=False),
    "a tensor as dimension": lambda t, x: [t.cumsum(x, t.tensor(1)), x.cumprod(t.tensor(0)), x.sum(t.tensor(1))],
    "a tensor as factor": lambda t, x: [t.add(x, x, alpha=t.tensor(2)), t.addcmul(x, x, x, value=t.tensor(0.5))],
    "a tensor to fill with": lambda t, x: [t.full((2,), t.tensor(1.5)), t.full_like(x, fill_value=t.tensor(2))],
    "segments of a later dimension": lambda t, x: t.segment_reduce(
        x, "max", lengths=t.tensor([[1, 2], [2, 1]]), axis=1),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_further_forms_of_arguments(form: str) -> None:
    """The same results as PyTorch's, in value and dtype."""
    ours, theirs = (
        [(str(r.dtype), r.tolist()) for r in flat(FORMS[form](t, t.arange(6.0).reshape(2, 3)))]
        for t in (retrograd, torch)
    )
    assert ours == theirs


def test_randint_takes_its_three_forms() -> None:
    """With and without ``low``, sizes by place and by name."""
    for drawn in (
        retrograd.randint(3, (50,)),
        retrograd.randint(3, size=(50,)),
        retrograd.randint(0, 3, (50,)),
        retrograd.randint(high=3, size=(50,)),
    ):
        assert set(drawn.tolist()) <= {0, 1, 2}
