"""Where classes say that they are defined, as tracebacks, logs and pickles show it."""

from __future__ import annotations

import importlib
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


MODULES = (
    "autograd.function", "autograd.graph", "autograd.forward_ad", "autograd.grad_mode", "autograd.anomaly_mode",
    "nn.modules", "nn.parameter", "optim", "optim.lr_scheduler", "distributions",
    "utils.hooks", "utils.checkpoint", "utils.data",
)  # fmt: skip
ELSEWHERE = {
    "MultiheadAttention", "LinearCrossEntropyLoss", "OneHotCategoricalStraightThrough", "DataParallel",
}  # fmt: skip
"""What we define in files of their own, and lazy layers, all of which import those that PyTorch names."""


@pytest.mark.parametrize("module", MODULES)
def test_classes_of_a_module_are_where_pytorch_has_them(module: str) -> None:
    """Rows F-01, G-36: each class that both offer names PyTorch's module, and a pickle finds it there."""
    ours = importlib.import_module(f"retrograd.{module}")
    theirs = importlib.import_module(f"torch.{module}")
    classes = [name for name in dir(theirs) if isinstance(getattr(theirs, name), type) and hasattr(ours, name)]
    for name in classes:
        mine, wanted = getattr(ours, name), getattr(theirs, name)
        if name.startswith(("_", "Lazy")) or name in ELSEWHERE or not wanted.__module__.startswith("torch"):
            continue
        assert mine.__module__ == wanted.__module__.replace("torch", "retrograd", 1), name
        assert pickle.loads(pickle.dumps(mine)) is mine


def test_classes_of_nodes_belong_to_no_module() -> None:
    """Row G-01: the class of a node prints as its name alone, as those that are written in C."""
    node = type((rg.ones(1, requires_grad=True) * 2).grad_fn)
    assert repr(node) == "<class 'MulBackward0'>"
    assert node.__module__ == "builtins"


def test_a_class_of_the_program_is_the_programs() -> None:
    """What is derived from them names its own module."""

    class Mine(rg.autograd.Function):
        pass

    class Quiet(rg.no_grad):
        pass

    assert Mine.__module__ == Quiet.__module__ == __name__


@pytest.mark.parametrize("value", [rg.Size([2, 3]), rg.float32, rg.device("cpu")])
def test_pickles_are_read(value: Any, tmp_path: Any) -> None:
    """Files that hold them load where only weights are trusted."""
    rg.save({"x": value}, tmp_path / "new.pt")
    assert rg.load(tmp_path / "new.pt", weights_only=True) == {"x": value}
