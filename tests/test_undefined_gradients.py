"""Gradients of several outputs of which some are missing: what PyTorch's formulas make of that, as ours."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")

MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])
CALLS = {
    "var_mean": lambda t, x: t.var_mean(x), "std_mean": lambda t, x: t.std_mean(x),
    "var_mean of columns": lambda t, x: t.var_mean(x, 0), "std_mean kept": lambda t, x: t.std_mean(x, 0, keepdim=True),
    "biased": lambda t, x: t.std_mean(x, correction=0), "slogdet": lambda t, x: t.linalg.slogdet(x),
}  # fmt: skip
INPUTS = {
    "one": np.array([3.0]),
    "one row": np.array([[1.0, 2.0]]),
    "matrix": MATRIX,
    "complex": MATRIX + 1j * MATRIX.T,
}


def _seen(t, call, data, way):
    """Of each output alone, and of both: the gradient, and whether it has a graph."""
    found = []
    for chosen in ((0,), (1,), (0, 1)):
        x = t.from_numpy(data.copy()).requires_grad_()
        outputs = call(t, x)
        used = [outputs[i] for i in chosen if outputs[i].requires_grad]
        if way == "hooked":
            for output in used:
                output.register_hook(lambda g: g * 1)
        weights = [t.full_like(output, 1.5) for output in used]
        (g,) = t.autograd.grad(used, x, weights, create_graph=way == "graph", allow_unused=True)
        found.append(None if g is None else g.detach().numpy())
        if way == "graph" and g is not None and np.isfinite(found[-1]).all():
            found.append(g.requires_grad)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["plain", "hooked", "graph"])
@pytest.mark.parametrize("name", CALLS)
def test_a_missing_gradient_is_none_not_zero(name, way):
    """Row E-14: the slope of a spread over one element is NaN, and must not reach the mean as ``0 * nan``."""
    for key, data in INPUTS.items():
        if name == "slogdet" and key in ("one", "one row"):
            continue
        ours, theirs = (_seen(t, CALLS[name], data, way) for t in (rg, torch))
        assert len(ours) == len(theirs)
        for mine, wanted in zip(ours, theirs, strict=True):
            assert (mine is None) == (wanted is None), key
            if wanted is not None:
                np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-14, err_msg=key)
