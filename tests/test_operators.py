"""The vocabulary: one name for each operator in any spelling, and traits that PyTorch confirms."""

from __future__ import annotations

import pytest

from retrograd.inspect.operators import Trait, canonical, inplace, is_a, operator, traits_of
from retrograd.inspect.operators.collectives import Shares, collective, derivable, shares
from retrograd.inspect.recording.events import Event

SPELLINGS = {
    "sub": "sub subtract sub_ rsub __sub__ __isub__ __rsub__ isub aten::sub.Tensor aten.sub_.Scalar _foreach_sub_ "
    "SubBackward0 RsubBackward1 torch.sub(out=) Tensor.subtract_ sub.Tensor torch.ops.aten.rsub.Scalar",
    "div": "truediv __rtruediv__ true_divide divide_ DivBackward1 _foreach_div",
    "to": "half Tensor.float _to_copy ToCopyBackward0 type type_as",
    "item": "__float__ __index__ __bool__ _local_scalar_dense item",
    "getitem": "__getitem__ index IndexBackward0 aten::index.Tensor",
    "setitem": "__setitem__ setitem",
    "bitwise_and": "__and__ __rand__ __iand__ bitwise_and_",
    "rand": "rand torch.rand",
    "max_pool2d": "max_pool2d_with_indices MaxPool2DWithIndicesBackward0",
    "norm": "torch.norm torch.linalg.norm linalg_norm",
    "solve": "LinalgSolveExBackward0 torch.linalg.solve",
    "MyFunction": "MyFunction MyFunctionBackward0",
    "softmax": "_softmax SoftmaxBackward0 torch.nn.functional.softmax special_softmax",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_spelling_is_the_operators_own_name(name: str) -> None:
    """Functions, methods, Python's operators, ATen's overloads and nodes all have the name of the operator."""
    assert {spelling: canonical(spelling) for spelling in SPELLINGS[name].split()} == dict.fromkeys(
        SPELLINGS[name].split(), name
    )


def test_writes_are_told_by_their_names() -> None:
    """A name says whether the call writes into its first tensor."""
    writing = ["sub_", "__isub__", "aten.add_.Tensor", "_foreach_mul_", "setitem", "__setitem__", "Tensor.zero_"]
    plain = ["sub", "__sub__", "__init__", "imag", "isin", "item", "index", "_softmax", "__getitem__", "interpolate"]

    assert [name for name in writing if not inplace(name)] == []
    assert [name for name in plain if inplace(name)] == []


def test_unknown_names_are_operators_without_traits() -> None:
    """Whatever a newer version or a program calls its functions, there is an answer."""
    for name in ("", "_", "brand_new_", "<lambda>", "my.own.thing", "__", "a b", "λ"):
        assert operator(name).traits == frozenset()
        assert isinstance(canonical(name), str)


def test_traits_are_asked_in_any_spelling() -> None:
    """What an operator does is the same however it is written."""
    assert traits_of("SubBackward0") == traits_of("subtract_") >= {Trait.ELEMENTWISE, Trait.LINEAR}
    assert is_a("torch.nn.functional.mse_loss", Trait.DISTANCE, Trait.VIEW)
    assert not is_a("aten::mul.Tensor", Trait.LINEAR)


def test_files_of_older_versions_name_operators_alike() -> None:
    """A file that has what the program called an operator is read as one that has the operator's name."""
    older = {"kind": "inplace", "op": "subtract_", "data": {"inputs": [0], "outputs": [0]}}
    event = Event.from_plain(older)

    assert (event.op, event.written) == ("sub", "subtract_")
    assert Event.from_plain(event.to_plain()) == event
    assert Event.from_plain({"kind": "function", "op": "Sub_"}).op == "Sub_"


def test_collectives_in_any_spelling() -> None:
    """Who moves what is asked by traits, whichever of its names PyTorch or a dump of it uses."""
    assert collective("_all_gather_base") == collective("all_gather_into_tensor") == "all_gather_single"
    assert shares("_reduce_scatter_base") == shares("reduce_scatter_tensor") >= {Shares.SUM, Shares.PARTS}
    assert Shares.SAME in shares("all_reduce") - shares("reduce")
    assert shares("barrier") == shares("relu") == frozenset()


def test_collectives_with_a_derivative() -> None:
    """What a finding proposes is a function of this PyTorch."""
    functional = pytest.importorskip("torch.distributed.nn.functional")
    names = ["all_gather_into_tensor", "all_to_all_single", "reduce_scatter_tensor", "gather", "all_reduce"]
    assert all(callable(getattr(functional, derivable(name))) for name in names)
    assert derivable("all_gather_object") == derivable("barrier") == ""
