"""Schemas: inferred from annotations, parsed, printed, and held against a call's arguments (C-30, C-28, C-03).

No postponed annotations here: the functions below are annotated with the types of the engine they are made for.
Both spellings of optional and union types are meant to be tried.
"""

# ruff: noqa: UP006, UP007, UP045, B008

import typing
from collections.abc import Sequence
from typing import Any, Optional, Union

import pytest
from both_engines import assert_agree

import retrograd.library  # noqa: F401 - the face loads it on first use
from retrograd.engine.custom_op.schema_parser import parse_qualname, parse_schema

Number = Union[int, float, bool]


def everything(t: Any) -> Any:
    """Every kind of parameter that the row lists."""

    def func(
        x: t.Tensor,
        y: Optional[t.Tensor],
        z: list[t.Tensor],
        w: Sequence[int],
        a: float = 1.5,
        b: bool = True,
        c: str = "q",
        d: Optional[int] = None,
        *,
        e: t.dtype = t.float32,
    ) -> tuple[t.Tensor, int]: ...

    return func


def lists(t: Any) -> Any:
    """Lists and optional lists."""

    def func(
        a: typing.List[Optional[t.Tensor]],
        b: Sequence[float],
        c: Optional[Sequence[int]],
        d: Optional[typing.List[bool]],
        e: Sequence[Number],
        f: list[bool],
        g: Optional[float],
        h: Optional[str],
        i: t.device,
        j: Optional[t.dtype],
        k: Number,
        m: int | None = None,
        n: t.device = t.device("cpu"),
        o: float = float("inf"),
        p: int = -1,
        q: float = 1e-9,
    ) -> list[t.Tensor]: ...

    return func


def returns(t: Any, annotation: Any) -> Any:
    """A function of one tensor with the given return annotation."""

    def func(x: t.Tensor) -> annotation: ...

    return func


INFERRED = {
    "everything": lambda t: (everything(t), ()),
    "lists": lambda t: (lists(t), ()),
    "unknown writes": lambda t: (everything(t), "unknown"),
    "some writes": lambda t: (everything(t), ["z", "x"]),
    "none": lambda t: (returns(t, None), ()),
    "tensor": lambda t: (returns(t, t.Tensor), ()),
    "tensors": lambda t: (returns(t, list[t.Tensor]), ()),
    "one in a tuple": lambda t: (returns(t, tuple[t.Tensor]), ()),
    "numbers": lambda t: (returns(t, tuple[int, float, bool, Number, list[t.Tensor]]), ()),
}


@pytest.mark.parametrize("kind", INFERRED)
def test_inferred_schema_c30(kind: str) -> None:
    """C-30: the schema text of annotated functions is PyTorch's, letter for letter."""

    def program(t: Any) -> str:
        func, writes = INFERRED[kind](t)
        return t.library.infer_schema(func, mutates_args=writes)

    found = assert_agree(program)
    assert "->" in found.value


def test_schema_of_the_row_c30() -> None:
    """C-30: the long example, with the operator's name in front."""
    found = assert_agree(lambda t: t.library.infer_schema(everything(t), mutates_args=(), op_name="f"))
    assert found.value == (
        'f(Tensor x, Tensor? y, Tensor[] z, SymInt[] w, float a=1.5, bool b=True, str c="q", SymInt? d=None, *, '
        "ScalarType e=float32) -> (Tensor, SymInt)"
    )


def no_annotation(t: Any) -> Any:
    def func(x) -> t.Tensor: ...  # noqa: ANN001

    return func


def no_return(t: Any) -> Any:
    def func(x: t.Tensor): ...  # noqa: ANN202

    return func


def positional_only(t: Any) -> Any:
    def func(x: t.Tensor, /) -> t.Tensor: ...

    return func


def varargs(t: Any) -> Any:
    def func(*x: t.Tensor) -> t.Tensor: ...

    return func


def takes(t: Any, annotation: Any, *default: Any) -> Any:
    """A function with one parameter of the given annotation and perhaps a default."""
    if default:

        def func(x: annotation = default[0]) -> t.Tensor: ...

    else:

        def func(x: annotation) -> t.Tensor: ...

    return func


REFUSED = {
    "no annotation": (no_annotation, (), "must have a type annotation"),
    "no return": (no_return, (), "No return type annotation"),
    "positional-only": (positional_only, (), "positional-only args, varargs, or varkwargs"),
    "varargs": (varargs, (), "positional-only args, varargs, or varkwargs"),
    "dict": (lambda t: takes(t, dict), (), "has unsupported type"),
    "tuple": (lambda t: takes(t, tuple[int, int]), (), "please try to use List instead. For example, list[int]"),
    "any": (lambda t: takes(t, Any), (), "has unsupported type"),
    "optional tensors": (lambda t: takes(t, Optional[list[t.Tensor]]), (), "has unsupported type"),
    "text type": (lambda t: takes(t, "Nowhere"), (), "Unsupported type annotation Nowhere"),
    "list default": (lambda t: takes(t, list[int], [1]), (), "unsupported default value type"),
    "str return": (lambda t: returns(t, str), (), "Return has unsupported type"),
    "optional return": (lambda t: returns(t, Optional[t.Tensor]), (), "Return has unsupported type"),
    "unknown name": (lambda t: takes(t, t.Tensor), ["y"], "were not found in the custom op's signature"),
    "number written": (lambda t: takes(t, int), ["x"], "only Tensors or collections of Tensors can be mutated"),
    "text": (lambda t: takes(t, t.Tensor), "x", "or the string 'unknown'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_functions_c30(kind: str) -> None:
    """C-30, C-29: what has no schema is a ValueError that says why."""
    make, writes, phrase = REFUSED[kind]
    found = assert_agree(lambda t: t.library.infer_schema(make(t), mutates_args=writes), phrase=phrase)
    assert found.error == "ValueError"


VALUES = {
    "int": [True, 2.0, "a"],
    "float": [1, True, "a", 2.5, 1j],
    "bool": [1, None, "a", 2.0],
    "Scalar": [1, 2.0, 1j, "a"],
    "str": ["a", 3],
    "int?": [None, 2, "a"],
    "int[]": [[1, 2], (1, 2), 3, [1.5]],
    "int[2]": [3, [1]],
    "float[]": [[1, 2.0], "ab"],
    "str[]": [["a"]],
    "Scalar[]": [[1, 2.0]],
    "SymInt[]?": [None, [1]],
    "Tensor[]": [[None], 3, None],
    "Tensor?": [None, 3],
    "Tensor?[]": [[None], [3]],
    "Tensor[]?": [None, [3]],
    "Device": [3, None],
    "ScalarType": ["float32"],
}


@pytest.mark.parametrize("kind", VALUES)
def test_conversion_of_arguments_c28(kind: str) -> None:
    """C-28: a value reaches the kernel converted to its declared type, or the call is refused."""
    for number, value in enumerate(VALUES[kind]):

        def program(t: Any, number: int = number, value: Any = value) -> Any:
            received: list[Any] = []
            space = f"rg_values_{abs(hash(kind))}"
            with t.library._scoped_library(space, "FRAGMENT") as lib:
                lib.define(f"f{number}({kind} x, Tensor z) -> ()")
                lib.impl(f"f{number}", lambda x, z: received.append(x), "CPU")
                getattr(getattr(t.ops, space), f"f{number}")(value, t.ones(1))
            return [received, type(received[0]).__name__]

        found = assert_agree(program)
        assert found.error in ("", "RuntimeError")
        if found.error:
            assert f"Expected a value of type '{parse_schema(f'f({kind} x) -> ()').arguments[0].type.described()}'" in (
                found.message
            )


PRINTED = [
    "f(Tensor x, SymInt y=3) -> Tensor",
    "ns::f(Tensor(a0!)[] x, Tensor(a1!)? y, *, Tensor(a2!) out) -> (Tensor(a2!))",
    'f(str a="x y", float b=1e-09, int[] c=[1, 2], bool d=True, int? e=None) -> ()',
    "f(Tensor x) -> ((Tensor))",
    "f(Tensor x) -> (Tensor a, Tensor[] b, int c)",
    "f(Tensor(a) x, Tensor?[] y, int[2] z) -> Tensor(a)",
    "f.out(Tensor x) -> Tensor",
]


@pytest.mark.parametrize("text", PRINTED)
def test_schemas_are_printed_as_they_are_read_c03(text: str) -> None:
    """C-03: parsing and printing are inverse, and the printed form parses to the same value."""
    schema = parse_schema(text)
    wanted = text.replace("(Tensor(a2!))", "Tensor(a2!)")
    assert str(schema) == wanted
    assert parse_schema(str(schema)) == schema


@pytest.mark.parametrize(
    "text", ["(Tensor x) -> Tensor", "f(Tensor x", "f(Tensor) -> Tensor", "f(Tensor x) Tensor", "f("]
)
def test_malformed_schemas_point_at_the_place_c03(text: str) -> None:
    """C-03: a schema that cannot be read is a RuntimeError with the place marked."""
    with pytest.raises(RuntimeError, match="<--- HERE"):
        parse_schema(text)


def test_unknown_types_and_names_c03() -> None:
    """C-03, C-27: unknown types are named; a name without namespace is refused."""
    with pytest.raises(RuntimeError, match="unknown type specifier 'Blah'"):
        parse_schema("f(Blah x) -> Tensor")
    with pytest.raises(ValueError, match="namespace::name"):
        parse_qualname("foo")


def test_facts_of_a_schema_c29() -> None:
    """C-29: what a schema says about writing, views and optional values."""
    schema = parse_schema("f(Tensor(a0!) x, Tensor(b) y, int[2] k, Tensor? z=None) -> Tensor(b)")
    x, y, k, z = schema.arguments
    assert (schema.is_mutable, schema.returns_view, schema.is_functional) == (True, True, False)
    assert (x.is_write, y.is_write, y.alias_info.before_set) == (True, False, {"b"})
    assert (k.type.fixed_size, k.type.is_list, z.type.is_optional, z.has_default_value()) == (2, True, True, True)
    assert parse_schema("f(Tensor x) -> Tensor").is_functional
    assert not parse_schema("f(Tensor x) -> ()").is_functional
