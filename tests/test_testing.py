"""``torch.testing``: which values are close, what is said of others, and tensors made to try things on."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd

CLOSE = [
    lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5])),
    lambda t: (t.tensor([[1.0, 2.0], [0.0, 1.0]]), t.tensor([[1.0, 2.0], [0.0, 1.0]])),
    lambda t: (t.ones(2), t.ones(3)),
    lambda t: (t.ones(2), t.ones(2).double()),
    lambda t: (t.tensor([1, 2, 3]), t.tensor([1, 2, 4])),
    lambda t: (t.tensor(float("nan")), t.tensor(float("nan"))),
    lambda t: (1.0, 1.5),
    lambda t: (1, 1.0),
    lambda t: ([t.ones(2), 3], [t.ones(2), 4]),
    lambda t: ({"a": t.ones(2), "b": [1.0]}, {"a": t.ones(2), "b": [2.0]}),
    lambda t: ({"a": 1}, {"b": 1}),
    lambda t: ([1], [1, 2]),
    lambda t: (None, t.ones(2)),
    lambda t: (None, None),
    lambda t: ("a", "b"),
    lambda t: (t.tensor(True), t.tensor(False)),
    lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t: (t.tensor(2.0), t.tensor(1.0)),
    lambda t: (t.ones(0), t.ones(0)),
]


@pytest.mark.parametrize("options", [{}, {"equal_nan": True}, {"rtol": 0.5, "atol": 0.1}, {"check_dtype": False}])
def test_closeness(options: dict[str, Any]) -> None:
    """The same values are close, and the message says the same of those that are not."""
    torch = pytest.importorskip("torch")
    for pair in CLOSE:
        assert _said(torch, pair, options) == _said(retrograd, pair, options)


def _said(engine: Any, pair: Any, options: dict[str, Any]) -> tuple[str, str]:
    try:
        engine.testing.assert_close(*pair(engine), **options)
    except Exception as error:
        text = str(error).replace("retrograd", "torch")
        return type(error).__name__, text if isinstance(error, AssertionError) else ""
    return "", ""


@differential
def test_half_a_tolerance_is_refused(torch: Any) -> Any:
    """Both tolerances or none; a message of one's own."""
    close = torch.testing.assert_close
    return [
        raises("Both 'rtol' and 'atol' must be", close, 1.0, 1.0, rtol=1.0), raises("mine", close, 1, 2, msg="mine"),
        raises("> Scalars", close, 1, 2, msg=lambda text: f"> {text}"),
    ]  # fmt: skip


@differential
def test_made_tensors(torch: Any) -> Any:
    """Shape, dtype, bounds and gaps of ``make_tensor``."""
    make = torch.testing.make_tensor
    found = []
    for name in ("float32", "float64", "int64", "uint8", "bool", "complex64"):
        t = make((3, 4), dtype=getattr(torch, name), device="cpu", noncontiguous=True)
        found.append([tuple(t.shape), str(t.dtype), t.is_contiguous(), t.stride()])
    low = make(50, dtype=torch.float32, device="cpu", low=1, high=2, requires_grad=True)
    whole = make(200, dtype=torch.int32, device="cpu", low=-1, high=2, exclude_zero=True)
    return [
        found, bool(((low >= 1) & (low < 2)).all()), low.requires_grad, sorted(set(whole.tolist())),
        raises("requires_grad=True", make, 2, dtype=torch.int64, device="cpu", requires_grad=True),
        raises("`low` must be less than `high`", make, 2, dtype=torch.float32, device="cpu", low=2, high=1),
    ]  # fmt: skip


ATTRIBUTES: dict[str, Any] = {
    "device": lambda t: (t.ones(2), t.ones(2, device="meta").double()),
    "no values": lambda t: (t.ones(2, device="meta"), t.zeros(2, device="meta")),
    "layout": lambda t: (t.eye(2), t.eye(2).to_sparse()),
    "entries": lambda t: (t.eye(2).to_sparse(), t.ones(2, 2).to_sparse()),
    "values": lambda t: (t.eye(2).to_sparse(), (t.eye(2) * 2).to_sparse()),
    "rows": lambda t: (t.eye(2).to_sparse_csr(), (t.eye(2) * 2).to_sparse_csr()),
    "equal": lambda t: (t.eye(2).to_sparse(), t.eye(2).to_sparse()),
    "booleans": lambda t: (True, False),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_E_45_attributes_before_values(name: str) -> None:
    """Row E-45: layout, device and dtype are compared before values, of sparse tensors those of the entries."""
    torch = pytest.importorskip("torch")

    def said(t: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pair = ATTRIBUTES[name](t)
        try:
            t.testing.assert_close(*pair)
        except AssertionError as error:
            return str(error)
        return ""

    assert said(retrograd) == said(torch)
