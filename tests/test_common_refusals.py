"""Mistakes that programs often make are answered with PyTorch's type of error and in its words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree, differential, raises


def attention(torch: Any, shape: tuple[int, ...], mask: Any, dropout_p: float) -> Any:
    """Attention of a tensor to itself under a mask and the causal one."""
    x = torch.arange(float(math.prod(shape))).reshape(shape).sin()
    return torch.nn.functional.scaled_dot_product_attention(x, x, x, mask, dropout_p, is_causal=True)


def hooked(torch: Any) -> Any:
    """A layer whose hook returns what it should not."""
    layer = torch.nn.Linear(1, 1)
    layer.register_state_dict_post_hook(lambda module, state, prefix, local: state)
    return layer


CALLS: dict[str, Callable[[Any], Any]] = {
    "ragged": lambda t: t.tensor([[1, 2], [3]]),
    "ragged, longer": lambda t: t.tensor([[1], [3, 4]]),
    "ragged, deeper": lambda t: t.tensor([[[1, 2], [3, 4]], [[1, 2]]]),
    "text in a list": lambda t: t.tensor(["a"]),
    "text": lambda t: t.tensor("a"),
    "object": lambda t: t.tensor(object()),
    "object in a list": lambda t: t.as_tensor([object()]),
    "None": lambda t: t.tensor(None),
    "None in a list": lambda t: t.tensor([1, None]),
    "None in a later list": lambda t: t.tensor([[1, 2], [3, None]]),
    "text in a later list": lambda t: t.tensor([[1, 2], ["a", "b"]]),
    "text after a number": lambda t: t.tensor([1, "a"]),
    "None after a tensor": lambda t: t.tensor([t.tensor(1.0), None]),
    "dict": lambda t: t.tensor({}),
    "negated truth values": lambda t: -t.tensor([True]),
    "negated truth values in place": lambda t: t.tensor([True]).neg_(),
    "double input of a layer": lambda t: t.nn.Linear(3, 4)(t.ones(2, 3).double()),
    "integer input of a layer": lambda t: t.nn.Linear(3, 4)(t.ones(2, 3).long()),
    "double input without bias": lambda t: t.nn.Linear(3, 4, bias=False)(t.ones(2, 3).double()),
    "product of dtypes": lambda t: t.ones(2, 3).double() @ t.ones(3, 4),
    "sum and product of dtypes": lambda t: t.addmm(t.ones(2, 4), t.ones(2, 3), t.ones(3, 4).double()),
    "too small for a pool": lambda t: t.nn.MaxPool2d(2)(t.zeros(2, 3, 1, 1)),
    "too small for a mean": lambda t: t.nn.AvgPool2d(2)(t.zeros(3, 1, 1)),
    "too small for a pool of volumes": lambda t: t.nn.MaxPool3d(2)(t.zeros(2, 3, 1, 1, 1)),
    "split": lambda t: t.split(t.ones(5, 6), [2, 2], 1),
    "split from behind": lambda t: t.split(t.ones(5, 6), [2, 2], -1),
    "split into nothing": lambda t: t.ones(5).split(0),
    "split by fractions": lambda t: t.ones(4).split([1.0, 3.0]),
    "split by a fraction": lambda t: t.ones(4).split(2.0),
    "split by an integer of NumPy": lambda t: t.ones(4).split(np.int64(2)),
    "split by a text": lambda t: t.ones(4).split("22"),
    "split by a truth value": lambda t: t.ones(4).split(True),
    "split along a fraction": lambda t: t.ones(4).split(2, 0.0),
    "unbind a number": lambda t: t.tensor(1.0).unbind(),
    "unbind a number along a second dimension": lambda t: t.tensor(1.0).unbind(1),
    "grad of a vector": lambda t: t.func.grad(lambda x: x * 2)(t.ones(2)),
    "integers too large": lambda t: t.tensor([1, 2**40], dtype=t.int32),
    "integers too small": lambda t: t.tensor([-300], dtype=t.uint8),
    "a fraction below zero": lambda t: t.tensor(-0.5, dtype=t.uint8),
    "NaN among integers": lambda t: t.tensor([1.0, float("nan")], dtype=t.int64),
    "negative among the largest": lambda t: t.tensor([-1], dtype=t.uint64),
    "a number of NumPy's too large": lambda t: t.tensor(np.int64(300), dtype=t.uint8),
    "64 bits": lambda t: t.tensor([2**63]),
    "64 bits without sign": lambda t: t.tensor(2**63, dtype=t.int32),
    "more than 64 bits": lambda t: t.tensor(2**70),
    "more than 64 bits in a list": lambda t: t.tensor([[2**70], [1]], dtype=t.int16),
    "bytes of another machine": lambda t: t.tensor(np.ones(2, ">f4")),
    "shared bytes of another machine": lambda t: t.from_numpy(np.ones(2, ">i8")),
    "asarray of bytes of another machine": lambda t: t.asarray(np.ones(2, ">f8")),
    "batch norm of integers": lambda t: t.nn.BatchNorm1d(2)(t.ones(3, 2).long()),
    "batch norm of truth values": lambda t: t.nn.BatchNorm1d(2).eval()(t.ones(3, 2).bool()),
    "a third power of margins": lambda t: t.nn.MultiMarginLoss(p=3),
    "weights of margins": lambda t: t.nn.MultiMarginLoss(weight=t.ones(2, 2)),
    "two masks and dropout": lambda t: attention(t, (1, 1, 2, 3), t.ones(2, 2).bool(), 0.5),
    "two masks of one head": lambda t: attention(t, (2, 3), t.ones(2, 2).bool(), 0.0),
    "a hook of states that returns": lambda t: hooked(t).state_dict(),
    "real norm of complex matrices": lambda t: t.linalg.matrix_norm(t.ones(2, 2) * 1j, dtype=t.float32),
    "narrow norm of matrices": lambda t: t.linalg.norm(t.ones(2, 2).double(), "nuc", dtype=t.float32),
    "matrix norm over three dimensions": lambda t: t.norm(t.ones(2, 2, 2), dim=(0, 1, 2)),
    "norm over three dimensions": lambda t: t.linalg.norm(t.ones(2, 2, 2), dim=(0, 1, 2)),
    "dropout of complex numbers": lambda t: t.nn.functional.dropout(t.ones(2) * 1j),
    "dropped channels of complex numbers": lambda t: t.nn.functional.dropout2d(t.ones(1, 2, 2, 2) * 1j),
    "alpha dropout of complex numbers": lambda t: t.alpha_dropout(t.ones(2) * 1j, 0.5, True),
    "tensors that do not broadcast": lambda t: t.broadcast_tensors(t.ones(2), t.ones(3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_refused(name: str) -> None:
    """Type and first line are PyTorch's."""

    def program(torch: Any) -> Any:
        try:
            CALLS[name](torch)
        except Exception as error:
            return type(error).__name__, str(error).splitlines()[0]

    assert_agree(program)


@differential
def test_limits(torch: Any) -> Any:
    """Texts of ``finfo`` and ``iinfo``, and norms of lists."""
    kinds = [torch.float16, torch.float32, torch.float64, torch.complex64]
    return [
        [repr(torch.finfo(kind)) for kind in kinds], [repr(torch.iinfo(k)) for k in (torch.int8, torch.uint8)],
        torch._foreach_norm([torch.ones(4), torch.ones(2, 2) * 2]), torch._foreach_norm([torch.ones(4)], 1),
    ]  # fmt: skip


@differential
def test_data_sets_side_by_side(torch: Any) -> Any:
    """``StackDataset``, ``default_convert`` and who reads."""
    import numpy as np

    data = torch.utils.data
    pair, named = data.StackDataset(torch.arange(3), range(3)), data.StackDataset(a=torch.arange(3), b=range(3))
    loader = data.DataLoader([{"a": np.ones(2)}, {"a": np.zeros(2)}], batch_size=None)
    return [pair[1], named[2], len(pair), list(data.DataLoader(named, 2)), list(loader), data.get_worker_info(),
            data.default_convert([np.float64(2), "a", (np.ones(1), 3)])]  # fmt: skip


def test_modules_of_data_have_their_names() -> None:
    """Programs import from the files of ``torch.utils.data``, and say what their samplers give."""
    from retrograd.utils.data.dataloader import DataLoader, default_collate
    from retrograd.utils.data.dataset import random_split
    from retrograd.utils.data.sampler import Sampler

    class Even(Sampler[int]):
        def __iter__(self) -> Any:
            return iter((0, 2))

    assert [batch.tolist() for batch in DataLoader([5, 6, 7], 2, sampler=Even())] == [[5, 7]]
    assert default_collate([1, 2]).tolist() == [1, 2]
    assert [len(part) for part in random_split(range(3), [1, 2])] == [1, 2]


def test_lists_nested_deeper_than_arrays_may_be() -> None:
    """NumPy's arrays have at most 64 dimensions; the refusal comes at once."""
    import retrograd

    data: Any = 1
    for _ in range(70):
        data = [data]
    with pytest.raises(ValueError, match="nested 70 deep"):
        retrograd.tensor(data)


@differential
def test_batches_that_do_not_broadcast(torch: Any) -> Any:
    """Products of batches of matrices name the sizes that do not fit, as sums of tensors do."""
    one = torch.ones
    return [raises("The size of tensor a (2) must match the size of tensor b (3)", torch.matmul, *operands)
            for operands in ((one(2, 3, 4), one(3, 4, 5)), (one(5, 2, 3, 4), one(3, 4, 5)))]  # fmt: skip


@differential
def test_types_of_python_as_dtypes(torch: Any) -> Any:
    """``float`` stands for float64 and ``int`` for int64, whatever the default is; other types are refused."""
    x, layer = torch.ones(2), torch.nn.Linear
    made = [torch.zeros(1, dtype=kind) for kind in (float, int, bool, complex)]
    made += [x.to(int), x.to(dtype=float), x.sum(dtype=float), torch.arange(3, dtype=float), x.new_zeros(1, dtype=int)]
    kinds = [layer(1, 1, dtype=float).weight, layer(1, 1).to(float).weight, layer(1, 1).to(dtype=float).weight]
    refused = [raises("invalid combination of arguments", x.to, *given, **named)
               for given, named in (((str,), {}), ((), {"dtype": "x"}))]  # fmt: skip
    return (
        [t.dtype for t in (*made, *kinds)],
        torch.finfo(float).eps,
        refused,
        raises("only accepts", layer(1, 1).to, int),
    )


@differential
def test_dtypes_of_convolutions(torch: Any) -> Any:
    """Operands of different dtypes are refused: the bias is named first, as it is looked at first."""
    F, one = torch.nn.functional, torch.ones
    x, weight, bias = one(1, 3, 4, 4), one(2, 3, 3, 3), one(2)
    return [
        raises("Input type (double) and bias type (float) should be the same", F.conv2d, x.double(), weight, bias),
        raises("Input type (float) and bias type (double) should be the same", F.conv2d, x, weight, bias.double()),
        raises("expected scalar type Double but found Float", F.conv2d, x.double(), weight),
        raises("expected scalar type Long but found Float", F.conv2d, x.long(), weight),
    ]


@differential
def test_numbers_of_numpy_to_fill_with(torch: Any) -> Any:
    """They count as Python's: a float64 makes a tensor of the default dtype."""
    numbers = (np.float64(3.0), np.float32(3.0), np.int32(3), np.int8(1))
    return [torch.full((2,), number) for number in numbers], torch.ones(1).new_full((1,), np.float64(2)).dtype


def test_checked_types_are_known_again() -> None:
    """Types of arguments are kept to be found again: our own classes as they are, those of programs weakly."""
    import retrograd
    from retrograd.engine.calls.overload_choice import _held

    own = type("Own", (), {})
    assert _held(retrograd.Tensor) is retrograd.Tensor
    assert _held(retrograd.nn.Parameter) is retrograd.nn.Parameter
    assert _held(own) is not own
