"""Run on demand: random calls of every operator on both engines, and where they differ.

``python tests/operator_sweep.py --seed 3 --calls 5000 [--only NAME]``.  A call is a sample of
``op_samples_*.py`` after a few random changes (``sample_mutations.py``).  Compared are the result, its dtype and shape,
the node, gradients, their gradients, forward mode, the in-place and ``out=`` forms, and the types of refusals.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from op_runs import Run, array, first_order, flat, forward_mode, is_tensor, quiet, run, second_order
from op_samples import Const, Sample, all_samples, look_up
from sample_mutations import mutated

import retrograd

LOOSEST = {"float16": 1e-2, "complex64": 2e-4, "float32": 2e-4}
RANDOM = ("rand", "drop", "bernoulli", "normal", "poisson", "multinomial", "rrelu", "gumbel", "empty", "fractional")
UNDEFINED = ("geqrf", "lobpcg", "lstsq", "ormqr", "svd", "eig", "qr", "ldl")
"""Names whose results both engines may choose: random ones, and vectors up to a phase or order."""
OUT_OF_PLACE, IN_PLACE, INTO_OUT, METHOD = "", "in place", "out=", "method"
FORMS = (OUT_OF_PLACE, OUT_OF_PLACE, OUT_OF_PLACE, IN_PLACE, INTO_OUT, METHOD)


def compared(sample: Sample) -> bool:
    """Whether a sample's results are determined by its arguments."""
    return sample.call is None and not any(word in sample.name for word in (*RANDOM, *UNDEFINED))


def calls(seed: int, count: int, only: str = "") -> Iterator[tuple[Sample, str]]:
    """``count`` random calls and the forms in which they are made.

    Names come in an order of their own for each seed, and each draws by itself: a new sample changes few calls.
    """
    by_name: dict[str, list[Sample]] = {}
    for sample in all_samples():
        if compared(sample) and only in sample.name:
            by_name.setdefault(sample.name, []).append(sample)
    names = sorted(by_name, key=lambda name: random.Random(f"{seed} {name}").random())
    for i in range(count):
        name = names[i % len(names)]
        rng = random.Random(f"{seed} {name} {i // len(names)}")
        sample = mutated(rng, rng.choice(by_name[name]))
        if not undefined_in_torch(sample):
            yield sample, rng.choice(FORMS)


def undefined_in_torch(sample: Sample) -> bool:
    """Calls on which PyTorch 2.13 divides by zero and ends the process, or reads memory beyond its tensors."""
    if sample.name.endswith("pdist"):
        return any(isinstance(a, np.ndarray) and not a.size for a in sample.args)
    return sample.name == "segment_reduce" and "offsets" in sample.kwargs and "size" in sample.note


def form_of(engine: Any, sample: Sample, form: str) -> Any:
    """The function that a call in this form makes; ``None`` for the plain one."""
    if form == IN_PLACE:
        return lambda first, *args, **kwargs: getattr(first.clone(), sample.name.split(".")[-1] + "_")(*args, **kwargs)
    if form == METHOD:
        return lambda first, *args, **kwargs: getattr(first, sample.name.split(".")[-1])(*args, **kwargs)
    if form == INTO_OUT:
        function = look_up(engine, sample.name)

        def into(*args: Any, **kwargs: Any) -> Any:
            with engine.no_grad():
                plain = function(*args, **kwargs)
                outs = [engine.zeros(tuple(r.shape), dtype=r.dtype) for r in flat(plain)]
                return function(*args, out=tuple(outs) if isinstance(plain, (tuple, list)) else outs[0], **kwargs)

        return into
    return None


def outcome(engine: Any, sample: Sample, form: str) -> tuple[Run | None, Exception | None]:
    """What a call gives, or the error that it raises."""
    try:
        with quiet(), np.errstate(all="ignore"):
            return run(engine, sample, form_of(engine, sample, form)), None
    except Exception as error:
        return None, error


def differences(torch: Any, sample: Sample, form: str) -> Iterator[str]:
    """Where the engines differ on one call, each as a line that begins with the kind."""
    theirs, refusal = outcome(torch, sample, form)
    ours, our_refusal = outcome(retrograd, sample, form)
    if theirs is None or ours is None:
        yield from _refusals(refusal, our_refusal)
        return
    found = list(_results(ours, theirs))
    yield from found
    if found or form == INTO_OUT or not theirs.outputs:
        return
    yield from _derivatives(sample, ours, theirs, form)


def _refusals(theirs: Exception | None, ours: Exception | None) -> Iterator[str]:
    if theirs is not None and ours is not None:
        if type(theirs) is not type(ours):
            yield f"error: {_said(theirs)} / ours {_said(ours)}"
    elif theirs is None:
        assert ours is not None
        yield f"we refuse: {_said(ours)}"
    else:
        yield f"torch refuses: {_said(theirs)}"


def _said(error: Exception) -> str:
    return f"{type(error).__name__} {str(error).splitlines()[0][:150] if str(error) else ''}"


def _results(ours: Run, theirs: Run) -> Iterator[str]:
    if len(ours.results) != len(theirs.results):
        yield f"count: {len(theirs.results)} results, ours {len(ours.results)}"
        return
    for i, (a, b) in enumerate(zip(ours.results, theirs.results, strict=True)):
        if is_tensor(a) != is_tensor(b):
            yield f"kind: result {i}"
        elif not is_tensor(a):
            if a != b and not (isinstance(b, float) and np.allclose(a, b, 1e-4, equal_nan=True)):
                yield f"value: {b} / ours {a}"
        else:
            yield from _tensors("result", a, b)
            if a.requires_grad != b.requires_grad:
                yield f"requires_grad: {b.requires_grad} / ours {a.requires_grad}"
            elif _node(a) != _node(b):
                yield f"node: {_node(b)} / ours {_node(a)}"


def _node(t: Any) -> str:
    return "" if t.grad_fn is None else str(t.grad_fn.name())


def _tensors(what: str, ours: Any, theirs: Any) -> Iterator[str]:
    if str(ours.dtype) != str(theirs.dtype):
        yield f"{what} dtype: {theirs.dtype} / ours {ours.dtype}"
    elif tuple(ours.shape) != tuple(theirs.shape):
        yield f"{what} shape: {tuple(theirs.shape)} / ours {tuple(ours.shape)}"
    else:
        yield from _values(what, array(ours), array(theirs))


def _values(what: str, ours: Any, theirs: Any) -> Iterator[str]:
    if ours is None and theirs is None:
        return
    ours = np.zeros_like(theirs) if ours is None else ours
    theirs = np.zeros_like(ours) if theirs is None else theirs
    loose = LOOSEST.get(str(theirs.dtype), 1e-6)
    with np.errstate(all="ignore"):
        same = ours.shape == theirs.shape and np.allclose(ours, theirs, loose, loose, equal_nan=True)
    if not same:
        yield f"{what} value: {theirs.reshape(-1)[:5]!s} / ours {ours.reshape(-1)[:5]!s}"


def _derivatives(sample: Sample, ours: Run, theirs: Run, form: str) -> Iterator[str]:
    stages = [("gradient", first_order), ("second", second_order)]
    for what, derive in stages:
        got: list[Any] = []
        for r in (theirs, ours):
            try:
                with quiet(), np.errstate(all="ignore"):
                    got.append(derive(r))
            except Exception as error:
                got.append(error)
        if isinstance(got[0], Exception):
            return  # PyTorch has none: checked against finite differences elsewhere
        if isinstance(got[1], Exception):
            yield f"{what}: we refuse: {_said(got[1])}"
            return
        lines = [line for a, b in zip(got[1], got[0], strict=True) for line in _gradients(what, a, b)]
        yield from lines
        if lines:
            return
    if form == OUT_OF_PLACE:
        yield from _tangents(theirs.engine, sample)


def _gradients(what: str, ours: Any, theirs: Any) -> Iterator[str]:
    if ours is not None and theirs is not None:
        yield from _tensors(what, ours, theirs)
    else:
        yield from _values(what, array(ours), array(theirs))


def _tangents(torch: Any, sample: Sample) -> Iterator[str]:
    with quiet(), np.errstate(all="ignore"):
        try:
            wanted = forward_mode(torch, sample)
        except Exception:
            return
        try:
            found = forward_mode(retrograd, sample)
        except Exception as error:
            yield f"tangent: we refuse: {_said(error)}"
            return
    for a, b in zip(found, wanted, strict=True):
        yield from _values("tangent", a, b)


def spelled(sample: Sample, form: str) -> str:
    """A call as a line."""

    def one(value: Any) -> str:
        value = value.array if isinstance(value, Const) else value
        if isinstance(value, np.ndarray):
            return f"{value.dtype}{list(value.shape)}"
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            return f"[{', '.join(map(one, value))}]"
        return repr(value)

    args = [one(a) for a in sample.args] + [f"{k}={one(v)}" for k, v in sample.kwargs.items()]
    return f"{sample.name}({', '.join(args)}) {form} [{sample.note}]"


def main() -> None:
    """Print the calls that differ, and how many differ in which way."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="", help="show only differences that begin so (comma-separated)")
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    for sample, form in calls(options.seed, options.calls, options.only):
        with contextlib.suppress(MemoryError):
            for line in differences(torch, sample, form):
                kinds[line.partition(":")[0]] += 1
                if line.startswith(tuple(options.kinds.split(","))):
                    print(f"{spelled(sample, form)}\n    {line}", flush=True)
    print(dict(kinds), "in", options.calls, "calls")


if __name__ == "__main__":
    main()
