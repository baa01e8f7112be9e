"""Runs operator samples on an engine and compares what two runs gave."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from op_samples import Const, Sample, function_of, tensors_for


@dataclass
class Run:
    """One call on one engine: its differentiable leaves and its flattened results."""

    engine: Any
    leaves: list[Any]
    results: list[Any]
    """Tensors and plain values, in order."""

    @property
    def outputs(self) -> list[Any]:
        """The results that are differentiable."""
        return [r for r in self.results if is_tensor(r) and r.requires_grad]


SMALLEST = {"float16": 4e-3, "float32": 2e-6, "complex64": 2e-6}
"""What results in a dtype may differ by, however exact a sample asks to be."""


def is_tensor(value: Any) -> bool:
    """A tensor of either engine."""
    return hasattr(value, "grad_fn")


def run(engine: Any, sample: Sample, function: Any = None) -> Run:
    """Call a sample; warnings are not its subject."""
    leaves: list[Any] = []
    args = tensors_for(engine, sample.args, leaves)
    kwargs = tensors_for(engine, sample.kwargs, leaves)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = (function or function_of(engine, sample))(*args, **kwargs)
    return Run(engine, leaves, flat(result))


def flat(value: Any) -> list[Any]:
    """Tensors and plain values in nested containers, in order."""
    if isinstance(value, (list, tuple)) and type(value).__name__ != "Size":
        return [entry for v in value for entry in flat(v)]
    return [tuple(value)] if type(value).__name__ == "Size" else [value]


def array(t: Any) -> Any:
    """The values of a tensor of either engine."""
    if t is None:
        return None
    t = t.detach()
    return np.array((t.resolve_conj().resolve_neg() if hasattr(t, "resolve_neg") else t).numpy(force=True))


def weights(t: Any, start: float) -> Any:
    """A fixed direction shaped as a tensor, with both parts set for complex ones."""
    return _waves(t.numel(), start, str(t.dtype).removeprefix("torch.")).copy().reshape(tuple(t.shape))


@cache
def _waves(count: int, start: float, dtype: str) -> Any:
    """So many entries of a fixed direction."""
    values = np.cos(np.arange(1, count + 1) * 1.7 + start)
    if dtype.startswith("complex"):
        values = values + 1j * np.sin(np.arange(1, count + 1) * 1.3 + start)
    return values.astype(dtype)


def directions(r: Run, tensors: list[Any], start: float, *, grad: bool = False) -> list[Any]:
    """Fixed tensors shaped as ``tensors``."""
    made = [r.engine.from_numpy(weights(t, start + i)) for i, t in enumerate(tensors)]
    return [m.requires_grad_() for m in made] if grad else made


def first_order(r: Run, *, create_graph: bool = False, cotangents: list[Any] | None = None) -> list[Any]:
    """Gradients of the leaves for fixed gradients of the outputs; ``None`` where there is no path."""
    outs = r.outputs
    if not outs or not r.leaves:
        return [None] * len(r.leaves)
    cotangents = directions(r, outs, 0.3) if cotangents is None else cotangents
    return list(
        r.engine.autograd.grad(
            outs, r.leaves, cotangents, create_graph=create_graph, retain_graph=True, allow_unused=True
        )
    )


def second_order(r: Run) -> list[Any]:
    """Gradients of the first-order gradients, by the leaves and by the gradients of the outputs."""
    cotangents = directions(r, r.outputs, 0.3, grad=True)
    firsts = first_order(r, create_graph=True, cotangents=cotangents)
    wanted = [*r.leaves, *cotangents]
    kept = [(i, g) for i, g in enumerate(firsts) if g is not None and g.requires_grad]
    if not kept:
        return [None] * len(wanted)
    along = [r.engine.from_numpy(weights(g, 0.9 + i)) for i, g in kept]
    return list(r.engine.autograd.grad([g for _, g in kept], wanted, along, allow_unused=True))


def forward_mode(engine: Any, sample: Sample) -> list[Any]:
    """Tangents of the results for fixed tangents of the leaves (``None`` where a result has none)."""
    fwd = engine.autograd.forward_ad
    leaves: list[Any] = []
    tensors_for(engine, [sample.args, sample.kwargs], leaves)
    with fwd.dual_level(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probe = Run(engine, leaves, [])
        duals = [fwd.make_dual(t.detach(), d) for t, d in zip(leaves, directions(probe, leaves, 0.6), strict=True)]
        remaining = iter(duals)
        args = _with_leaves(engine, sample.args, remaining)
        kwargs = _with_leaves(engine, sample.kwargs, remaining)
        results = flat(function_of(engine, sample)(*args, **kwargs))
        pushed = [fwd.unpack_dual(t).tangent if is_tensor(t) else None for t in results]
        return [array(t) for t in pushed]


def _with_leaves(engine: Any, value: Any, leaves: Any) -> Any:
    """The arguments of a sample with its leaves replaced, in order."""
    if isinstance(value, Const):
        return tensors_for(engine, value, [])
    if isinstance(value, (np.ndarray, np.generic)):
        found: list[Any] = []
        t = tensors_for(engine, value, found)
        return next(leaves) if found else t
    if isinstance(value, (list, tuple)):
        return type(value)([_with_leaves(engine, entry, leaves) for entry in value])
    if isinstance(value, dict):
        return {key: _with_leaves(engine, entry, leaves) for key, entry in value.items()}
    return tensors_for(engine, value, [])


def assert_same(ours: Any, theirs: Any, sample: Sample, *, loosen: float = 1.0) -> None:
    """Two results of one call agree in kind, dtype, shape and value."""
    if not is_tensor(theirs):
        assert not is_tensor(ours), f"a tensor where torch gives {theirs!r}"
        if isinstance(theirs, float):
            np.testing.assert_allclose(ours, theirs, sample.rtol, sample.atol)
        elif type(theirs).__module__.split(".")[0] not in ("torch", "retrograd"):
            assert ours == theirs
        return
    assert is_tensor(ours), f"{ours!r} where torch gives a tensor"
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    close(array(ours), array(theirs), sample, loosen)


def close(ours: Any, theirs: Any, sample: Sample, loosen: float = 1.0) -> None:
    """Two arrays agree; a missing gradient counts as zeros."""
    if ours is None and theirs is None:
        return
    if ours is None:
        ours = np.zeros_like(theirs)
    if theirs is None:
        theirs = np.zeros_like(ours)
    if ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes():
        return  # most are; to say by how much others differ takes long
    least = SMALLEST.get(str(theirs.dtype), 0.0)
    np.testing.assert_allclose(ours, theirs, max(sample.rtol, least) * loosen, max(sample.atol, least) * loosen)


def gradients_agree(ours: list[Any], theirs: list[Any], sample: Sample, loosen: float = 1.0) -> None:
    """Lists of gradients agree."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if a is not None and b is not None:
            assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape))
        close(array(a), array(b), sample, loosen)


def cast(sample: Sample, dtype: str) -> Sample:
    """The sample with its float64 arrays in another dtype (complex ones get an imaginary part)."""
    return replace(sample, args=_cast(sample.args, dtype), kwargs=_cast(sample.kwargs, dtype), **_tolerance(dtype))


def _cast(value: Any, dtype: str) -> Any:
    if isinstance(value, Const):
        return Const(_cast(value.array, dtype))
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype != np.float64:
            return value
        if dtype.startswith("complex"):
            return (value + 0.25j * np.flip(value)).astype(dtype)
        with np.errstate(all="ignore"):
            return np.asarray(value).astype(dtype)
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(entry, dtype) for entry in value])
    if isinstance(value, dict):
        return {key: _cast(entry, dtype) for key, entry in value.items()}
    return value


def _tolerance(dtype: str) -> dict[str, float]:
    loose = {"float16": (4e-3, 4e-3), "float32": (2e-5, 2e-5), "complex64": (3e-5, 3e-5)}
    rtol, atol = loose.get(dtype, (1e-9, 1e-11))
    return {"rtol": rtol, "atol": atol}


@contextlib.contextmanager
def quiet() -> Any:
    """No warnings from either engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
