"""Functions, dtypes and sizes can be pickled, and so can what holds them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from both_engines import differential

import retrograd

PLACES = {
    "torch": "add relu chunk split softmax sin where cat zeros einsum",
    "torch.nn.functional": "relu gelu softmax leaky_relu mse_loss cross_entropy linear conv2d pad",
    "torch.linalg": "norm solve inv",
    "torch.fft": "fft rfft",
    "torch.special": "expit erf",
}


@differential
def test_found_again(torch: Any) -> Any:
    """``pickle`` finds functions by their names, before their first call and after it."""
    torch.add(torch.ones(1), 1), torch.nn.functional.relu(torch.ones(1))
    spaces = {"torch": torch} | {f"torch.{n}": getattr(torch, n) for n in ("linalg", "fft", "special")}
    spaces["torch.nn.functional"] = torch.nn.functional
    found = [getattr(spaces[place], name) for place, names in PLACES.items() for name in names.split()]
    return [pickle.loads(pickle.dumps(function)) is function for function in found]


@differential
def test_found_again_when_modes_were_entered(torch: Any) -> Any:
    """The same for functions that ask modes, which take the place of those before."""
    with torch.overrides.TorchFunctionMode(), torch.utils._python_dispatch.TorchDispatchMode():
        pass
    found = [getattr(torch, name) for name in ["zeros", "ones", "arange", "tensor", "empty_like", "add", "relu"]]
    return [pickle.loads(pickle.dumps(function)) is function for function in found]


@pytest.mark.parametrize("torch", ["retrograd", "torch"])
def test_layers_that_hold_them(torch: str) -> None:
    """A layer whose activation is a function comes back and computes the same."""
    library = retrograd if torch == "retrograd" else pytest.importorskip("torch")
    layer = library.nn.TransformerEncoderLayer(4, 2, 4, dropout=0.0)
    x = library.ones(2, 1, 4)
    assert np.array_equal(pickle.loads(pickle.dumps(layer))(x).detach().numpy(), layer(x).detach().numpy())


def test_dtypes_and_sizes_in_files() -> None:
    """V-64: pickles of dtypes and sizes name what the package offers, as PyTorch's do, not where its code stands."""
    assert pickle.dumps(retrograd.float32, 0).startswith(b"cretrograd\nfloat32\n")
    assert pickle.dumps(retrograd.Size([2, 3]), 0).startswith(b"cretrograd\nSize\n")
    assert pickle.loads(pickle.dumps([retrograd.float32] * 2)) == [retrograd.float32] * 2
    assert repr(pickle.loads(pickle.dumps(retrograd.Size([2, 3])))) == "torch.Size([2, 3])"
