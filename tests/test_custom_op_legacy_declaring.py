"""The old operator interface: declaring, kernels, look-up (C-01 to C-08, C-26).

No postponed annotations here: the functions below are annotated with the types of the engine they are made for.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from both_engines import assert_agree, outcome
from fake_calls import on_fakes

import retrograd


def legacy(t: Any) -> Any:
    """The module with ``custom_op`` of an engine."""
    return importlib.import_module(f"{t.__name__}._custom_op.impl")


def declare(t: Any, name: str, func: Any, schema: str | None = None) -> Any:
    """Declare an operator the old way."""
    return legacy(t).custom_op(name, schema)(func)


def unary(t: Any) -> Any:
    """A function called foo, of one tensor and a number."""

    def foo(x: t.Tensor, k: int = 3) -> t.Tensor:
        """Multiplies."""
        raise AssertionError("the decorated body never runs")

    return foo


def test_declaration_c01() -> None:
    """C-01: the operator carries the function's name, module and documentation, its body never runs, and it warns."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c01::foo", unary(t))
        op.impl("cpu")(lambda x, k=3: x * k)
        return [op.__name__, op.__doc__, repr(op), op._qualname, str(op._schema), op(t.ones(2), 4), op(t.ones(2))]

    found = assert_agree(program)
    assert found.warned[0] == "DeprecationWarning"
    assert found.value[2] == '<CustomOp(op="rg_c01::foo")>'


@pytest.mark.parametrize(
    ("name", "func", "phrase"),
    [
        ("rg_c01::foo", 3, "Expected `func` to be a Python function"),
        ("rg_c01::bar", None, "expected `func` to have name"),
    ],
)
def test_refused_functions_c01(name: str, func: Any, phrase: str) -> None:
    """C-01: something that is no function, or has another name, is a ValueError."""
    found = assert_agree(lambda t: declare(t, name, func or unary(t)), phrase=phrase)
    assert found.error == "ValueError"


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("foo", "Expected there to be a namespace"),
        ("a::foo.bar", "do not handle overloads"),
        ("a.b::foo", "not contain any ."),
        *((f"{ns}::foo", "is a reserved namespace") for ns in ("prim", "prims", "aten", "at", "torch", "pytorch")),
    ],
)
def test_qualified_names_c02(name: str, phrase: str) -> None:
    """C-02: names need one namespace that is not reserved, and no overload."""
    assert assert_agree(lambda t: declare(t, name, unary(t)), phrase=phrase).error == "ValueError"


def plain(t: Any) -> Any:
    def foo(x, k): ...  # noqa: ANN001, ANN202

    return foo


def with_default(t: Any) -> Any:
    def foo(x, k=3): ...  # noqa: ANN001, ANN202

    return foo


def with_varargs(t: Any) -> Any:
    def foo(*x): ...  # noqa: ANN002, ANN202

    return foo


def positional_only(t: Any) -> Any:
    def foo(x, k, /): ...  # noqa: ANN001, ANN202

    return foo


def no_return(t: Any) -> Any:
    def foo(x: t.Tensor) -> None: ...

    return foo


def called_self(t: Any) -> Any:
    def foo(self: t.Tensor) -> t.Tensor: ...

    return foo


SCHEMAS: dict[str, tuple[Callable[[Any], Any], str | None, str]] = {
    "no returns": (no_return, None, "only supports functional operators"),
    "self": (called_self, None, "does not support arguments named 'self'"),
    "writes": (plain, "(Tensor(a!) x, int k) -> ()", "only supports functional operators"),
    "views": (plain, "(Tensor(a) x, int k) -> Tensor(a)", "only supports functional operators"),
    "manual, nothing returned": (plain, "(Tensor x, int k) -> ()", "only supports functional operators"),
    "annotated": (unary, "(Tensor x, int k) -> Tensor", "no type annotations"),
    "names": (plain, "(Tensor x, int other) -> Tensor", "signature to match"),
    "varargs": (with_varargs, "(Tensor x) -> Tensor", "are not supported"),
    "positional-only": (positional_only, "(Tensor x, int k) -> Tensor", "are not supported"),
    "default": (with_default, "(Tensor x, int k) -> Tensor", "should have default arguments"),
    "schema default": (plain, "(Tensor x, int k=3) -> Tensor", "should have default arguments"),
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_rules_c03(kind: str) -> None:
    """C-03: only functional operators, no argument called self, a manual schema that matches a bare function."""
    make, schema, phrase = SCHEMAS[kind]
    assert assert_agree(lambda t: declare(t, "rg_c03::foo", make(t), schema), phrase=phrase).error == "ValueError"


def test_manual_schema_c03() -> None:
    """C-03: an operator with a schema given as text."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c03b::foo", plain(t), "(Tensor x, int k) -> Tensor")
        op.impl("cpu")(lambda x, k: x * k)
        return [str(op._schema), op(t.ones(2), k=2)]

    assert_agree(program)


def test_custom_op_object_c04() -> None:
    """C-04: fields, keyword calls, location of registrations, life in the registry and its end."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c04::foo", unary(t))
        op.impl("cpu")(lambda x, k=3: x * k)
        registry = legacy(t).global_registry
        facts = [op._cpp_ns, op._opname, sorted(op._impls), op._impls["cpu"].location.endswith(f":{LINE}")]
        kept = registry["rg_c04::foo"] is op
        result = op(k=2, x=t.ones(2))
        op._destroy()
        return [facts, kept, "rg_c04::foo" in registry, result]

    LINE = program.__code__.co_firstlineno + 2
    assert assert_agree(program).value[:3] == [["rg_c04", "foo", ["cpu"], True], True, False]


def test_calling_a_destroyed_operator_c04() -> None:
    """C-04: after ``_destroy`` a call is an error (PyTorch's process dies here)."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c04c::foo", unary(t))
        op.impl("cpu")(lambda x, k=3: x * k)
        op._destroy()
        return op(t.ones(2))

    found = outcome(program, retrograd)
    assert (found.error, "does not exist" in found.message) == ("RuntimeError", True)


def test_private_constructor_c04() -> None:
    """C-04: ``CustomOp`` is not made by hand."""
    found = assert_agree(lambda t: legacy(t).CustomOp(None, "ns", None, "n", None), phrase="constructor is private")
    assert found.error == "RuntimeError"
    assert outcome(lambda t: legacy(t).CustomOp(), retrograd).error == "RuntimeError"


CALLS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "missing": (lambda t, op: op(), "is missing value for argument 'x'"),
    "mistyped": (lambda t, op: op(3), "Expected a value of type 'Tensor' for argument 'x'"),
    "mistyped number": (lambda t, op: op(t.ones(2), "a"), "Expected a value of type 'int' for argument 'k'"),
    "too many": (lambda t, op: op(t.ones(2), 1, 2), "expected at most 2 argument(s) but received 3"),
    "unknown": (lambda t, op: op(t.ones(2), z=2), "Unknown keyword argument 'z'"),
    "twice": (lambda t, op: op(t.ones(2), x=t.ones(2)), "specified both as positional and keyword"),
}


@pytest.mark.parametrize("kind", CALLS)
def test_wrong_calls_c04(kind: str) -> None:
    """C-04, C-28: a call that does not fit the schema is a RuntimeError that shows the declaration."""
    call, phrase = CALLS[kind]
    name = f"rg_c04_{kind.replace(' ', '_')}::foo"
    found = assert_agree(lambda t: call(t, declare(t, name, unary(t))), phrase=phrase)
    assert found.error == "RuntimeError"
    assert f"{name}(Tensor x, SymInt k=3) -> Tensor" in found.message


def test_kernels_by_device_c05() -> None:
    """C-05: ``impl`` takes one device or several and gives the function back."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c05::foo", unary(t))

        def kernel(x: Any, k: int = 3) -> Any:
            return x * k

        return [op.impl(["cpu", "cuda"])(kernel) is kernel, sorted(op._impls), op(t.ones(2))]

    assert assert_agree(program).value[:2] == [True, ["cpu", "cuda"]]


def test_kernel_misuse_c05() -> None:
    """C-05: unknown devices and second registrations are refused."""

    def twice(t: Any) -> Any:
        op = declare(t, "rg_c05b::foo", unary(t))
        op.impl("cpu")(lambda x, k: x)
        op.impl("cpu")(lambda x, k: x)

    found = assert_agree(
        lambda t: declare(t, "rg_c05a::foo", unary(t)).impl("xla"), phrase="we only support device_type in"
    )
    assert found.error == "ValueError"
    found = assert_agree(twice, phrase="already has a cpu impl registered from Python at ")
    assert found.error == "RuntimeError"


def factory(t: Any) -> Any:
    def foo(sizes: Sequence[int]) -> t.Tensor: ...

    return foo


def test_factory_kernel_c06() -> None:
    """C-06: a call without any tensor runs the factory kernel; it is registered once."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c06::foo", factory(t))
        op.impl_factory()(lambda sizes: t.zeros(sizes))
        return op([2, 3]).tolist()

    def twice(t: Any) -> Any:
        op = declare(t, "rg_c06b::foo", factory(t))
        op.impl_factory()(lambda sizes: t.zeros(sizes))
        op.impl_factory()(lambda sizes: t.zeros(sizes))

    assert assert_agree(program).value == [[0.0] * 3] * 2
    assert assert_agree(twice, phrase="already has a factory impl").error == "RuntimeError"


def test_abstract_kernel_c07() -> None:
    """C-07: data-less tensors run the abstract kernel; ``get_ctx`` raises inside; registered once."""
    impl = legacy(retrograd)

    def foo(x: retrograd.Tensor) -> retrograd.Tensor: ...

    with pytest.warns(DeprecationWarning, match="torch._custom_op is deprecated"):
        op = impl.custom_op("rg_c07::foo")(foo)
    op.impl("cpu")(lambda x: x * 2)
    kernel = op.impl_abstract()(lambda x: x.new_empty(7))
    assert tuple(on_fakes(op, retrograd.ones(2)).shape) == (7,)
    assert tuple(op(retrograd.ones(2)).shape) == (2,)
    assert impl.get_abstract_impl("rg_c07::foo") is kernel
    with pytest.raises(RuntimeError, match="already has a abstract impl registered from Python at "):
        op.impl_abstract()(lambda x: x)


def test_context_in_abstract_kernel_c07() -> None:
    """C-07: ``get_ctx`` in an abstract kernel says that there is none."""
    impl = legacy(retrograd)

    def foo(x: retrograd.Tensor) -> retrograd.Tensor: ...

    with pytest.warns(DeprecationWarning, match="torch._custom_op is deprecated"):
        op = impl.custom_op("rg_c07b::foo")(foo)
    op.impl_abstract()(lambda x: retrograd.library.get_ctx())
    with pytest.raises(RuntimeError, match=r"Attempted to call get_ctx\(\)"):
        on_fakes(op, retrograd.ones(2))
    assert retrograd.library.get_ctx() is None


MISSING: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any], str]] = {
    "cpu": (unary, lambda t, op: op(t.ones(2)), "there is no cpu impl registered"),
    "no tensors": (factory, lambda t, op: op([2]), "There were no Tensor inputs to this operator"),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_kernels_c08(kind: str) -> None:
    """C-08: a call for which nothing is registered is a NotImplementedError that says what to register."""
    make, call, phrase = MISSING[kind]
    name = f"rg_c08_{kind.replace(' ', '_')}::foo"
    assert assert_agree(lambda t: call(t, declare(t, name, make(t))), phrase=phrase).error == "NotImplementedError"


def test_missing_fake_kernel_c08() -> None:
    """C-08: data-less tensors without an abstract kernel."""
    impl = legacy(retrograd)

    def foo(x: retrograd.Tensor) -> retrograd.Tensor: ...

    with pytest.warns(DeprecationWarning, match="torch._custom_op is deprecated"):
        op = impl.custom_op("rg_c08m::foo")(foo)
    op.impl("cpu")(lambda x: x * 2)
    with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel"):
        on_fakes(op, retrograd.ones(2))


def test_look_up_c26() -> None:
    """C-26: operators are found by name, also those declared by a library."""

    def program(t: Any) -> Any:
        impl = legacy(t)
        op = declare(t, "rg_c26::foo", unary(t))
        with t.library._scoped_library("rg_c26lib", "FRAGMENT") as lib:
            lib.define("bar(Tensor x) -> Tensor")
            lib.impl("bar", lambda x: x * 2, "CPU")
            wrapped = impl._find_custom_op("rg_c26lib::bar", also_check_torch_library=True)
            values = [repr(wrapped), wrapped._qualname]
            wrapped._lib = None
            impl.global_registry.pop("rg_c26lib::bar")
        return [impl._find_custom_op("rg_c26::foo") is op, str(impl.get_op("rg_c26::foo")), values]

    assert assert_agree(program).value[0] is True


@pytest.mark.parametrize(
    ("function", "error", "phrase"),
    [
        ("get_op", "ValueError", "Could not find the operator"),
        ("_find_custom_op", "RuntimeError", "Could not find custom op"),
    ],
)
def test_failed_look_up_c26(function: str, error: str, phrase: str) -> None:
    """C-26: unknown names."""
    assert assert_agree(lambda t: getattr(legacy(t), function)("rg_c26::nope"), phrase=phrase).error == error
