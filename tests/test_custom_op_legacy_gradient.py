"""The old operator interface: gradients in two halves and every check on them (C-09 to C-25).

PyTorch 2.13 forgets to note that it installed its own autograd kernel (C-09); ``declare`` notes it in its place.
No postponed annotations here: the functions below are annotated with the types of the engine they are made for.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from both_engines import assert_agree, outcome

import retrograd


def declare(t: Any, name: str, func: Any, schema: str | None = None) -> Any:
    """Declare an operator the old way, ready for a gradient."""
    op = importlib.import_module(f"{t.__name__}._custom_op.impl").custom_op(name, schema)(func)
    op._registered_autograd_kernel_indirection = True
    return op


def leaf(t: Any, *values: float) -> Any:
    """A vector that requires grad."""
    return t.tensor(values or (1.0, 2.0), requires_grad=True)


def cube(t: Any) -> Any:
    def foo(x: t.Tensor) -> t.Tensor: ...

    return foo


def cube_op(t: Any, name: str, backward: Any = None) -> Any:
    """x³ with a gradient."""
    op = declare(t, name, cube(t))
    op.impl("cpu")(lambda x: x**3)
    op.impl_save_for_backward()(lambda inputs, output: inputs.x)
    op.impl_backward()(backward or (lambda ctx, saved, g: {"x": g * 3 * saved**2}))
    return op


def test_registering_works_without_help_c09() -> None:
    """C-09: here a declared operator takes a gradient at once; PyTorch refuses ("already has an Autograd kernel")."""

    def program(t: Any) -> Any:
        op = importlib.import_module(f"{t.__name__}._custom_op.impl").custom_op("rg_c09::foo")(cube(t))
        op.impl("cpu")(lambda x: x**3)
        op.impl_save_for_backward()(lambda inputs, output: inputs.x)
        op.impl_backward()(lambda ctx, saved, g: {"x": g * 3 * saved**2})
        x = leaf(t)
        op(x).sum().backward()
        return x.grad.tolist()

    assert outcome(program, retrograd).value == [3.0, 12.0]
    assert "already has an Autograd kernel" in outcome(program, pytest.importorskip("torch")).message


@pytest.mark.parametrize("half", ["backward", "save_for_backward"])
@pytest.mark.parametrize("tracked", [True, False])
def test_one_half_is_not_enough_c10(half: str, tracked: bool) -> None:
    """C-10: with one half registered every call fails, also when nothing requires grad."""
    other = {"backward": "save_for_backward", "save_for_backward": "backward"}[half]

    def program(t: Any) -> Any:
        op = declare(t, f"rg_c10_{half}_{tracked}::foo", cube(t))
        op.impl("cpu")(lambda x: x**3)
        getattr(op, f"impl_{half}")()(lambda *args: None)
        return op(t.ones(2, requires_grad=tracked))

    found = assert_agree(program, phrase=f"We found a '{half}' registration for ")
    assert found.error == "RuntimeError"
    assert f"unable to find a '{other}' registration" in found.message


def test_gradient_registered_after_use_c10() -> None:
    """C-10: the entry looks up at each call, so the gradient may come later."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c10b::foo", cube(t))
        op.impl("cpu")(lambda x: x**3)
        before = op(t.ones(2))
        op.impl_save_for_backward()(lambda inputs, output: inputs.x)
        op.impl_backward()(lambda ctx, saved, g: {"x": g * 3 * saved**2})
        x = leaf(t)
        op(x).sum().backward()
        return [before, x.grad]

    assert_agree(program)


def test_no_gradient_c11() -> None:
    """C-11: without a gradient an input that requires grad is refused, also inside a list, but not under no_grad."""

    def listed(t: Any) -> Any:
        def foo(xs: Sequence[t.Tensor]) -> t.Tensor: ...

        return foo

    def single(t: Any) -> Any:
        op = declare(t, "rg_c11::foo", cube(t))
        op.impl("cpu")(lambda x: x**3)
        return op(leaf(t))

    def nested(t: Any) -> Any:
        op = declare(t, "rg_c11b::foo", listed(t))
        op.impl("cpu")(lambda xs: xs[0] * 2)
        return op([t.ones(2), leaf(t)])

    def quiet(t: Any) -> Any:
        op = declare(t, "rg_c11c::foo", cube(t))
        op.impl("cpu")(lambda x: x**3)
        with t.no_grad():
            return [op(leaf(t)), op(t.ones(2))]

    for program in (single, nested):
        found = assert_agree(program, phrase="Autograd has not been implemented for operator")
        assert found.error == "RuntimeError"
    assert_agree(quiet)


def test_save_for_backward_c12() -> None:
    """C-12, C-17: it gets a named tuple of the arguments and the raw result, grad mode off, at every call."""

    def program(t: Any) -> Any:
        log: list[Any] = []
        op = declare(t, "rg_c12::foo", cube(t))
        op.impl("cpu")(lambda x: x**3)

        def save(inputs: Any, output: Any) -> Any:
            log.append([type(inputs).__name__, inputs._fields, inputs.x, output, t.is_grad_enabled()])
            return inputs.x

        returned = [op.impl_save_for_backward()(save), op.impl_backward()(lambda ctx, saved, g: {"x": g})]
        op(t.ones(2))
        with t.no_grad():
            op(leaf(t))
        op(leaf(t))
        return [returned, log]

    found = assert_agree(program)
    assert found.value[0] == [None, None]
    assert [entry[0] for entry in found.value[1]] == ["foo_args"] * 3


@pytest.mark.parametrize("half", ["backward", "save_for_backward"])
def test_second_registration_c12_c13(half: str) -> None:
    """C-12, C-13: each half is registered once."""

    def program(t: Any) -> Any:
        op = declare(t, f"rg_c13_{half}::foo", cube(t))
        getattr(op, f"impl_{half}")()(lambda *args: None)
        getattr(op, f"impl_{half}")()(lambda *args: None)

    found = assert_agree(program, phrase=f"already has a {half} impl registered from Python at ")
    assert found.error == "RuntimeError"


def mixed(t: Any) -> Any:
    def foo(x: t.Tensor) -> tuple[t.Tensor, int, list[t.Tensor], t.Tensor]: ...

    return foo


@pytest.mark.parametrize("flags", [(True, True, True, True), [True], [True, 1, True, True], "yes"])
def test_output_differentiability_must_be_bools_c13(flags: Any) -> None:
    """C-13: a tuple, a wrong length or something that is no bool."""
    name = f"rg_c13b_{abs(hash(str(flags)))}::foo"
    found = assert_agree(
        lambda t: declare(t, name, mixed(t)).impl_backward(output_differentiability=flags),
        phrase="expected output_differentiability to be a list of bools",
    )
    assert found.error == "RuntimeError"


def text_result(t: Any) -> Any:
    def foo(x): ...  # noqa: ANN001, ANN202

    return foo


def test_which_operators_may_have_a_gradient_c14() -> None:
    """C-14: a result that is neither number nor tensor."""
    found = assert_agree(
        lambda t: declare(t, "rg_c14::foo", text_result(t), "(Tensor x) -> str").impl_backward()(lambda *a: None),
        phrase="Cannot use torch._custom_ops APIs to register backward formula for operator with return not in",
    )
    assert found.error == "RuntimeError"


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        ("foo(Tensor(a!) x) -> ()", "non-functional operator"),
        ("foo(Tensor x) -> ()", "operator with no returns"),
        ("foo(Tensor(a) x) -> Tensor(a)", "operator that returns views"),
    ],
)
def test_library_operators_without_gradient_c14(schema: str, phrase: str) -> None:
    """C-14: operators of a library that write, return nothing or return views."""

    def program(t: Any) -> Any:
        impl = importlib.import_module(f"{t.__name__}._custom_op.impl")
        with t.library._scoped_library(f"rg_c14_{abs(hash(schema))}", "FRAGMENT") as lib:
            lib.define(schema)
            op = impl._find_custom_op(f"{lib.ns}::foo", also_check_torch_library=True)
            try:
                op.impl_backward()(lambda *args: None)
            finally:
                op._lib = None
                impl.global_registry.pop(f"{lib.ns}::foo")

    assert assert_agree(program, phrase=phrase).error == "RuntimeError"


@pytest.mark.parametrize(
    ("key", "phrase"),
    [("Autograd", "already has an Autograd kernel"), ("CompositeImplicitAutograd", "already has an implementation")],
)
def test_conflicts_c15(key: str, phrase: str) -> None:
    """C-15: an operator that somebody else gave a gradient, or that is made of ordinary operators."""

    def program(t: Any) -> Any:
        impl = importlib.import_module(f"{t.__name__}._custom_op.impl")
        with t.library._scoped_library(f"rg_c15_{key.lower()}", "FRAGMENT") as lib:
            lib.define("foo(Tensor x) -> Tensor")
            lib.impl("foo", lambda x: x * 2, key)
            op = impl._find_custom_op(f"{lib.ns}::foo", also_check_torch_library=True)
            try:
                op.impl_backward()(lambda *args: None)
            finally:
                op._lib = None
                impl.global_registry.pop(f"{lib.ns}::foo")

    assert assert_agree(program, phrase=phrase).error == "RuntimeError"


def test_the_function_behind_c16() -> None:
    """C-16: node name, a bare ``object`` as ctx, None for a number, a list for a list, zeros for unused outputs."""

    def program(t: Any) -> Any:
        log: list[Any] = []
        op = declare(t, "rg_c16::foo", mixed(t))
        op.impl("cpu")(lambda x: (x * 2, 5, [x * 3, x * 4], x * 6))
        op.impl_save_for_backward()(lambda inputs, output: None)

        def backward(ctx: Any, saved: Any, *grads: Any) -> Any:
            log.append([type(ctx) is object, saved, list(grads)])
            return {"x": grads[0] * 2 + grads[2][0] * 3 + grads[2][1] * 4 + grads[3] * 6}

        op.impl_backward()(backward)
        x = leaf(t)
        out = op(x)
        names = [out[0].grad_fn.name(), len(out[0].grad_fn.next_functions), out[2][1].output_nr]
        (out[2][0] + out[3]).sum().backward()
        return [names, type(out).__name__, type(out[2]).__name__, out[1], x.grad, log]

    found = assert_agree(program)
    assert found.value[0] == ["foo_customopBackward", 1, 3]


def test_named_tuples_c17() -> None:
    """C-17: the class is made once per schema and only takes a tuple."""
    autograd = importlib.import_module("retrograd._custom_op.autograd")
    parser = importlib.import_module("retrograd.engine.custom_op.schema_parser")
    schema = parser.parse_schema("foo(Tensor x, int k) -> Tensor")
    one, two = autograd.namedtuple_args(schema, (1, 2)), autograd.namedtuple_args(schema, (3, 4))
    assert repr(one) == "foo_args(x=1, k=2)"
    assert type(one) is type(two)
    with pytest.raises(AssertionError):
        autograd.namedtuple_args(schema, [1, 2])


def test_saved_structures_c18() -> None:
    """C-18: tensors in a nested structure are saved like a Function's (hooks run), the rest comes back as it was."""

    def program(t: Any) -> Any:
        seen: list[Any] = []
        packed = [0]
        op = declare(t, "rg_c18::foo", cube(t))
        op.impl("cpu")(lambda x: x**3)
        op.impl_save_for_backward()(lambda inputs, output: {"x": inputs.x, "n": (7, [output])})

        def backward(ctx: Any, saved: Any, g: Any) -> Any:
            seen.append(saved)
            return {"x": g * 3 * saved["x"] ** 2}

        def pack(value: Any) -> Any:
            packed[0] += 1
            return value

        op.impl_backward()(backward)
        x = leaf(t)
        with t.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
            out = op(x)
        out.sum().backward()
        return [packed[0], seen, x.grad]

    assert assert_agree(program).value[0] == 2


def test_version_check_of_saved_values_c18() -> None:
    """C-18: a saved input that was written to is refused in backward."""

    def program(t: Any) -> Any:
        x = leaf(t)
        y = x * 1
        out = cube_op(t, "rg_c18b::foo")(y)
        with t.no_grad():
            y.mul_(2)
        out.sum().backward()

    found = assert_agree(program, phrase="modified by an inplace operation")
    assert found.error == "RuntimeError"


def test_non_differentiable_outputs_c19() -> None:
    """C-19: flagged outputs require no grad and count as zeros in backward; list outputs go together."""

    def program(t: Any) -> Any:
        grads: list[Any] = []
        op = declare(t, "rg_c19::foo", mixed(t))
        op.impl("cpu")(lambda x: (x * 2, 5, [x * 3, x * 4], x * 6))
        op.impl_save_for_backward()(lambda inputs, output: None)
        op.impl_backward(output_differentiability=[True, False, False, False])(
            lambda ctx, saved, *g: (grads.append(list(g)), {"x": g[0] * 2})[1]
        )
        x = leaf(t)
        out = op(x)
        out[0].sum().backward()
        return [out[0].requires_grad, [y.requires_grad for y in out[2]], out[3].requires_grad, x.grad, grads]

    assert assert_agree(program).value[:3] == [True, [False, False], False]


def test_flag_on_a_number_c19() -> None:
    """C-19: an output that is no tensor cannot be differentiable."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c19b::foo", mixed(t))
        op.impl("cpu")(lambda x: (x * 2, 5, [x * 3, x * 4], x * 6))
        op.impl_save_for_backward()(lambda inputs, output: None)
        op.impl_backward(output_differentiability=[True, True, True, True])(lambda ctx, saved, *g: {"x": g[0]})
        return op(leaf(t))

    phrase = "is not a Tensor, so it cannot have be marked as differentiable"
    assert assert_agree(program, phrase=phrase).error == "RuntimeError"


def many(t: Any) -> Any:
    def foo(x: t.Tensor, xs: list[t.Tensor], ys: Sequence[t.Tensor | None], k: int, z: t.Tensor | None) -> t.Tensor: ...

    return foo


def run_many(t: Any, name: str, answer: Callable[[Any, Any], Any]) -> Any:
    """Backward through an operator with every kind of argument; ``answer(g, t)`` is what its backward returns."""
    op = declare(t, name, many(t))
    op.impl("cpu")(lambda x, xs, ys, k, z: (x + xs[0] + 2 * xs[1] + 3 * ys[1]) * k)
    op.impl_save_for_backward()(lambda inputs, output: None)
    op.impl_backward()(lambda ctx, saved, g: answer(g, t))
    leaves = [leaf(t) for _ in range(4)]
    op(leaves[0], leaves[1:3], [None, leaves[3]], 2, None).sum().backward()
    return [x.grad for x in leaves]


def right(g: Any, t: Any) -> Any:
    """Gradients as they should be."""
    return {"x": g * 2, "xs": [g * 2, g * 4], "ys": (None, g * 6), "z": None}


def but(**changes: Any) -> Callable[[Any, Any], Any]:
    """``right`` with some entries replaced; values are functions of the gradient."""
    return lambda g, t: {**right(g, t), **{key: make(g) for key, make in changes.items()}}


ANSWERS: dict[str, tuple[str, Callable[[Any, Any], Any], str]] = {
    "result type": ("C-20", lambda g, t: g, "expected the output of the backward function to be a dict"),
    "missing key": ("C-21", lambda g, t: {"x": g}, "expected the returned grad_input dict to have keys"),
    "number key": ("C-21", but(k=lambda g: None), "expected the returned grad_input dict to have keys"),
    "no list": ("C-22", but(xs=lambda g: object()), "hold a list of gradients but got object"),
    "list length": ("C-22", but(xs=lambda g: [g]), "hold a list of 2 gradients but got 1"),
    "list element": ("C-22", but(xs=lambda g: [g, 3]), "hold a list of None or Tensor gradients"),
    "list of None": ("C-22", but(ys=lambda g: (g, g)), "expected None because the 0-th value was not a Tensor"),
    "number": ("C-23", but(x=lambda g: 3), "expected the gradient to be either None or a Tensor"),
    "no tensor": ("C-23", but(z=lambda g: g), "expected None as the gradient because input 'z' was not a Tensor"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_validation_c20_c21_c22_c23(kind: str) -> None:
    """C-20, C-21, C-22, C-23: what backward returned is checked, and the error names operator and place."""
    _, answer, phrase = ANSWERS[kind]
    space = f"rg_c20_{kind.replace(' ', '_')}"
    found = assert_agree(lambda t: run_many(t, f"{space}::foo", answer), phrase=phrase)
    assert found.error == "RuntimeError"
    assert found.message.startswith(f'In the backward function defined for <CustomOp(op="{space}::foo")> at ')
    assert "using the CustomOp API" in found.message


def test_gradients_reach_their_arguments_c24() -> None:
    """C-24, C-22: list gradients go element by element, numbers get None, a tuple is as good as a list."""
    assert assert_agree(lambda t: run_many(t, "rg_c24::foo", right)).error == ""
    some_none = but(xs=lambda g: (None, g * 4))
    found = assert_agree(lambda t: run_many(t, "rg_c24b::foo", some_none))
    assert found.value[1] is None


def test_shapes_are_repaired_by_the_engine_c24() -> None:
    """C-24: shape and dtype of gradients are the engine's business: summed, cast or refused."""

    def program(t: Any) -> Any:
        x = leaf(t)
        cube_op(t, "rg_c24c::foo", lambda ctx, saved, g: {"x": g.expand(3, 2).double()})(x).sum().backward()
        return x.grad

    def wrong(t: Any) -> Any:
        cube_op(t, "rg_c24d::foo", lambda ctx, saved, g: {"x": t.ones(3)})(leaf(t)).sum().backward()

    assert_agree(program)
    assert assert_agree(wrong, phrase="returned an invalid gradient at index 0").error == "RuntimeError"


def test_double_backward_and_hooks_c25() -> None:
    """C-25: second derivatives and hooks work as for any Function."""

    def program(t: Any) -> Any:
        x = leaf(t)
        out = cube_op(t, "rg_c25::foo")(x)
        seen: list[Any] = []
        out.register_hook(lambda g: seen.append(g))
        out.grad_fn.register_hook(lambda grads_in, grads_out: seen.append([list(grads_in), list(grads_out)]))
        (g,) = t.autograd.grad(out.sum(), x, create_graph=True)
        (gg,) = t.autograd.grad(g.sum(), x)
        return [g.detach(), gg, len(seen)]

    assert_agree(program)
