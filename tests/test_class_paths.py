"""Where classes say that they are defined, as tracebacks, logs and pickles show it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import retrograd as rg

torch = pytest.importorskip("torch")

NAMES = (
    "Tensor", "Size", "dtype", "device", "layout", "memory_format", "finfo", "iinfo", "no_grad", "enable_grad",
    "set_grad_enabled", "inference_mode", "nn.Parameter",
)  # fmt: skip


def _named(engine: Any, path: str) -> Any:
    for part in path.split("."):
        engine = getattr(engine, part)
    return engine


@pytest.mark.parametrize("name", NAMES)
def test_a_class_is_where_pytorch_has_it(name: str) -> None:
    """Its module, its name and how it prints are PyTorch's, with our package's name; and it is found there."""
    ours, theirs = _named(rg, name), _named(torch, name)
    assert (ours.__module__, ours.__qualname__) == (
        theirs.__module__.replace("torch", "retrograd"),
        theirs.__qualname__,
    )
    assert repr(ours) == repr(theirs).replace("torch", "retrograd")
    assert pickle.loads(pickle.dumps(ours)) is ours


def test_a_class_of_the_program_is_the_programs() -> None:
    """What is derived from them names its own module."""

    class Mine(rg.autograd.Function):
        pass

    class Quiet(rg.no_grad):
        pass

    assert Mine.__module__ == Quiet.__module__ == __name__


@pytest.mark.parametrize("value", [rg.Size([2, 3]), rg.float32, rg.device("cpu")])
def test_pickles_of_both_names_are_read(value: Any, tmp_path: Any) -> None:
    """Files with the new names and with those of before load where only weights are trusted."""
    rg.save({"x": value}, tmp_path / "new.pt")
    assert rg.load(tmp_path / "new.pt", weights_only=True) == {"x": value}
    older = {rg.Size: "dtypes", rg.device: "devices"}.get(type(value))
    if older is not None:
        text = pickle.dumps(value, protocol=0).replace(b"cretrograd\n", f"cretrograd.engine.tensors.{older}\n".encode())
        assert f"tensors.{older}".encode() in text
        assert pickle.loads(text) == value
