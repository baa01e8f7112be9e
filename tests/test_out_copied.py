"""``out=`` of functions that PyTorch composes of others: their result is copied there, with its history.  Row V-49."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_same, differential, raises, run

import retrograd

real_torch = pytest.importorskip("torch")

Call = Callable[[Any, Any, Any], Any]
COPIED: dict[str, Call] = {
    "tensordot": lambda t, x, out: t.tensordot(x, x, 1, out=out),
    "inner": lambda t, x, out: t.inner(x, x, out=out),
    "norm": lambda t, x, out: t.linalg.norm(x, dim=0, out=out),
    "matrix_norm": lambda t, x, out: t.linalg.matrix_norm(x, out=out),
    "cond": lambda t, x, out: t.linalg.cond(x, out=out),
    "tensorinv": lambda t, x, out: t.linalg.tensorinv(x, 1, out=out),
    "tensorsolve": lambda t, x, out: t.linalg.tensorsolve(x, x[0], out=out),
    "quantile": lambda t, x, out: t.quantile(x, 0.3, 1, out=out),
    "nanquantile": lambda t, x, out: t.nanquantile(x, 0.3, out=out),
}


@pytest.mark.parametrize("name", COPIED)
def test_history_is_copied(name: str) -> None:
    """V-49: gradients flow through ``out=`` to the operands; a leaf that requires grad is refused."""
    wanted, found = [run(lambda torch: written(torch, name), engine) for engine in (real_torch, retrograd)]
    assert_same(wanted, found, name)


def written(torch: Any, name: str) -> Any:
    """What a function leaves in ``out=``."""
    x = torch.tensor([[2.0, 1.0], [0.5, 3.0]], requires_grad=True)
    out = torch.zeros(0)
    result = COPIED[name](torch, x, out)
    shape = tuple(result.shape)
    leaf = torch.zeros(shape, requires_grad=True)
    refused = raises("a leaf Variable that requires grad", COPIED[name], torch, x.detach(), leaf)
    return [result is out, out.grad_fn.name(), torch.autograd.grad(out.sum(), x), out.stride(), refused]


@differential
def test_tangents_are_copied(torch: Any) -> Any:
    """V-49: so are tangents."""
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 4.0, 2.0]), torch.tensor([1.0, 2.0, 3.0]))
        return forward_ad.unpack_dual(torch.quantile(x, 0.5, out=torch.zeros(0))).tangent
