"""Uses that PyTorch wants to be rid of work, and are warned of once a process."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd

_ROWS = [[2.0, 1.0], [1.0, 3.0]]
_BYTES = [1, 0]

_USES = {
    "T of a vector": lambda torch: torch.ones(2).T,
    "T of a batch": lambda torch: torch.ones(1, 2, 3).T,
    "H of a number": lambda torch: torch.tensor(1.0).H,
    "meshgrid": lambda torch: torch.meshgrid(torch.ones(2), torch.ones(3))[0],
    "range": lambda torch: torch.range(0, 2),
    "qr": lambda torch: torch.qr(torch.tensor(_ROWS))[1].abs(),
    "cholesky": lambda torch: torch.tensor(_ROWS).cholesky(),
    "lu": lambda torch: torch.lu(torch.tensor(_ROWS))[0],
    "triangular_solve": lambda torch: torch.triangular_solve(torch.ones(2, 1), torch.tensor(_ROWS))[0],
    "chain_matmul": lambda torch: torch.chain_matmul(torch.tensor(_ROWS), torch.tensor(_ROWS)),
    "cross": lambda torch: torch.cross(torch.eye(3), torch.ones(3, 3)),
    "index of bytes": lambda torch: torch.tensor(_ROWS)[torch.tensor(_BYTES, dtype=torch.uint8)],
    "read-only array": lambda torch: torch.from_numpy(np.broadcast_to(np.ones(1), (2,))),
    "complex cast": lambda torch: torch.tensor([1 + 2j]).to(torch.float32),
    "complex copied": lambda torch: torch.zeros(1).copy_(torch.tensor([1 + 2j])),
    "upsample": lambda torch: torch.nn.functional.upsample(torch.ones(1, 1, 2, 2), scale_factor=2),
    "upsample_nearest": lambda torch: torch.nn.functional.upsample_nearest(torch.ones(1, 1, 2, 2), scale_factor=2),
    "upsample_bilinear": lambda torch: torch.nn.functional.upsample_bilinear(torch.ones(1, 1, 2, 2), scale_factor=2),
    "dropout2d": lambda torch: torch.nn.functional.dropout2d(torch.ones(2, 2), 0.0),
    "dropout3d": lambda torch: torch.nn.functional.dropout3d(torch.ones(2), 0.0),
}
_PLAIN = {
    "T": lambda torch: torch.ones(2, 3).T,
    "H": lambda torch: torch.ones(2, 3).H,
    "meshgrid": lambda torch: torch.meshgrid(torch.ones(2), indexing="ij")[0],
    "cross": lambda torch: torch.cross(torch.eye(3), torch.ones(3, 3), dim=0),
    "mask": lambda torch: torch.tensor(_ROWS)[torch.tensor([True, False])],
    "to bool": lambda torch: torch.tensor([1j, 0j]).to(torch.bool),
    "back to real": lambda torch: torch.ones(2, requires_grad=True).to(torch.complex64).abs().sum().backward() or [],
    "dropout2d": lambda torch: torch.nn.functional.dropout2d(torch.ones(1, 1, 2, 2), 0.0),
    "variance of nothing": lambda torch: torch.ones(0).sum(),
}


def _said(torch, use):
    """The result of a use as an array, and what it warned of."""
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = use(torch)
    finally:
        torch.set_warn_always(False)
    return np.asarray(result), [(w.category, str(w.message)[:55]) for w in caught]


@pytest.mark.parametrize("use", _USES.values(), ids=list(_USES))
def test_discouraged_uses_are_warned_of(use):
    """The same result as in PyTorch, and a warning that begins with the same words."""
    torch = pytest.importorskip("torch")
    wanted, found = _said(torch, use), _said(retrograd, use)
    assert wanted[1]
    assert found[1] == wanted[1]
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)


@pytest.mark.parametrize("use", _PLAIN.values(), ids=list(_PLAIN))
def test_nothing_is_said_of_other_uses(use):
    """What PyTorch says nothing of is done in silence here, too."""
    torch = pytest.importorskip("torch")
    assert _said(torch, use)[1] == _said(retrograd, use)[1] == []


def test_a_use_is_mentioned_once():
    """A second warning of the same thing is not given, unless ``set_warn_always`` asks for it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            _ = retrograd.ones(2).T
    assert len(caught) <= 1  # none where an earlier test was told of it


def test_models_in_different_modes():
    """``stack_module_state`` refuses models of which only some train."""
    models = [retrograd.nn.Linear(1, 1), retrograd.nn.Linear(1, 1).eval()]
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        retrograd.func.stack_module_state(models)
