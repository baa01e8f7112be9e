"""Gradients of today's custom operators: registration, context, lists, double backward (C-33 to C-36).

No postponed annotations here: the functions below are annotated with the types of the engine they are made for.
"""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_agree, outcome

import retrograd
import retrograd.library


def leaf(t: Any, *values: float) -> Any:
    """A vector that requires grad."""
    return t.tensor(values or (1.0, 2.0), requires_grad=True)


def cube_op(t: Any, name: str) -> Any:
    """x³ without a gradient."""

    def cube(x: t.Tensor) -> t.Tensor:
        return x**3

    return t.library.custom_op(name, cube, mutates_args=())


def save_input(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep the first argument."""
    ctx.save_for_backward(inputs[0])


def cube_gradient(ctx: Any, g: Any) -> Any:
    """3x² g"""
    (x,) = ctx.saved_tensors
    return g * 3 * x**2


def test_recording_c33() -> None:
    """C-33: a call with an argument that requires grad is recorded, formula or not; otherwise the kernel just runs."""

    def program(t: Any) -> Any:
        op = cube_op(t, "rg_c33::cube")
        out = op(leaf(t))
        with t.no_grad():
            quiet = op(leaf(t))
        return [out.grad_fn.name(), out.requires_grad, op(t.ones(2)).requires_grad, quiet.requires_grad]

    assert assert_agree(program).value == ["GeneratedBackwardFor_rg_c33_cube_defaultBackward", True, False, False]


def test_backward_without_formula_c33() -> None:
    """C-33: the missing formula is noticed in backward only, and the operator is named."""
    found = assert_agree(
        lambda t: cube_op(t, "rg_c33b::cube")(leaf(t)).sum().backward(),
        phrase="Trying to backward through rg_c33b.cube.default but no autograd formula was registered",
    )
    assert found.error == "RuntimeError"


def test_surroundings_of_a_kernel_c33() -> None:
    """C-33: in a recorded call the kernel sees the caller's tensors with grad mode off."""

    def program(t: Any) -> Any:
        seen: list[Any] = []
        x = leaf(t)

        def f(a: t.Tensor) -> t.Tensor:
            seen.append([a is x, a.requires_grad, t.is_grad_enabled()])
            return a * 2

        op = t.library.custom_op("rg_c33c::f", f, mutates_args=())
        op(x)
        return seen

    assert assert_agree(program).value == [[True, True, False]]


def test_kernel_exceptions_c33() -> None:
    """C-33: an exception of the kernel arrives unchanged."""

    def program(t: Any) -> Any:
        def f(x: t.Tensor) -> t.Tensor:
            raise KeyError("mine")

        return t.library.custom_op("rg_c33d::f", f, mutates_args=())(leaf(t))

    assert assert_agree(program, phrase="mine").error == "KeyError"


def test_registered_gradient_c34() -> None:
    """C-34: first and second derivative of x³."""

    def program(t: Any) -> Any:
        op = cube_op(t, "rg_c34::cube")
        returned = op.register_autograd(cube_gradient, setup_context=save_input)
        x = leaf(t)
        (g,) = t.autograd.grad(op(x).sum(), x, create_graph=True)
        (gg,) = t.autograd.grad(g.sum(), x)
        return [returned, g.detach(), gg]

    assert_agree(program)


@pytest.mark.parametrize("check", ["gradcheck", "gradgradcheck"])
def test_numerical_check_c34(check: str) -> None:
    """C-34: gradcheck and gradgradcheck accept the operator with its formula."""

    def program(t: Any) -> Any:
        op = cube_op(t, f"rg_c34_{check}::cube")
        op.register_autograd(cube_gradient, setup_context=save_input)
        return getattr(t.autograd, check)(op, t.tensor([0.5, -1.5], dtype=t.float64, requires_grad=True))

    assert assert_agree(program).value is True


def test_the_last_registration_counts_c34() -> None:
    """C-34: a gradient registered after the forward is the one that runs."""

    def program(t: Any) -> Any:
        op = cube_op(t, "rg_c34b::cube")
        op.register_autograd(cube_gradient, setup_context=save_input)
        x = leaf(t)
        out = op(x)
        op.register_autograd(lambda ctx, g: g * 100)
        out.sum().backward()
        return x.grad.tolist()

    assert assert_agree(program).value == [100.0, 100.0]


def with_defaults(t: Any, name: str) -> Any:
    """x·k with two more arguments that have defaults."""

    def f(x: t.Tensor, k: int, w: float = 1.0, v: bool = False) -> t.Tensor:
        return x * k

    return t.library.custom_op(name, f, mutates_args=())


def test_context_sees_all_arguments_c34() -> None:
    """C-34: ``setup_context`` gets every argument, defaults restored, the raw result, grad mode off."""

    def program(t: Any) -> Any:
        log: list[Any] = []

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            log.append([list(inputs), output, t.is_grad_enabled()])
            ctx.k = inputs[1]

        op = with_defaults(t, "rg_c34c::f")
        op.register_autograd(lambda ctx, g: (g * ctx.k, None, None, None), setup_context=setup)
        x = leaf(t)
        for call in (lambda: op(x, 2), lambda: op(x, 2, 3.0), lambda: op(x, v=True, k=2)):
            call().sum().backward()
        return [log, x.grad]

    assert_agree(program)


def test_keyword_only_arguments_c34() -> None:
    """C-34: with keyword-only arguments ``setup_context`` also gets them, by name."""

    def program(t: Any) -> Any:
        log: list[Any] = []

        def f(x: t.Tensor, *, k: int = 5) -> t.Tensor:
            return x * k

        def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
            log.append([list(inputs), dict(keyword_only_inputs), output])
            ctx.k = keyword_only_inputs["k"]

        op = t.library.custom_op("rg_c34d::f", f, mutates_args=())
        op.register_autograd(lambda ctx, g: g * ctx.k, setup_context=setup)
        x = leaf(t)
        op(x).sum().backward()
        op(x, k=3).sum().backward()
        return [log, x.grad]

    assert_agree(program)


RETURNED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too few": (lambda g: (g,), "returned an incorrect number of gradients (expected "),
    "too many": (
        lambda g: (g, None, None, None, None, None, g),
        "returned an incorrect number of gradients (expected ",
    ),
    "number": (lambda g: (3, None, None, None), "expected Variable or None (got int)"),
    "for a number": (lambda g: (g, g, None, None), "returned a gradient different than None at position 2"),
    "surplus None": (lambda g: (g, None, None, None, None, None), ""),
}


@pytest.mark.parametrize("kind", RETURNED)
def test_what_backward_may_return_c34(kind: str) -> None:
    """C-34: as many gradients as arguments, None for numbers; surplus None is ignored."""
    answer, phrase = RETURNED[kind]

    def program(t: Any) -> Any:
        op = with_defaults(t, f"rg_c34e_{kind.replace(' ', '_')}::f")
        op.register_autograd(lambda ctx, g: answer(g))
        x = leaf(t)
        op(x, 2, 3.0, True).sum().backward()
        return x.grad

    assert assert_agree(program, phrase=phrase).error == ("RuntimeError" if phrase else "")


def test_marks_and_materialising_c34() -> None:
    """C-34: the context is a Function's: outputs can be marked, missing gradients be zeros or None."""

    def program(t: Any) -> Any:
        def two(x: t.Tensor) -> tuple[t.Tensor, t.Tensor]:
            return x * 1, x * 2

        grads: list[Any] = []
        op = t.library.custom_op("rg_c34f::two", two, mutates_args=())
        op.register_autograd(lambda ctx, g, h: (grads.append([g, h]), g)[1])
        op(leaf(t))[0].sum().backward()
        op.register_autograd(
            lambda ctx, g, h: (grads.append([g, h]), g)[1],
            setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False),
        )
        op(leaf(t))[0].sum().backward()
        op.register_autograd(
            lambda ctx, g, h: g, setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1])
        )
        return [grads, [y.requires_grad for y in op(leaf(t))]]

    assert assert_agree(program).value[1] == [True, False]


def test_needs_input_grad_has_the_length_of_the_schema_c35() -> None:
    """C-35: here the flags fit the schema in setup_context and in backward, whatever was passed."""
    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append(ctx.needs_input_grad)

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g, None, None, None

    op = with_defaults(retrograd, "rg_c35::f")
    op.register_autograd(backward, setup_context=setup)
    x = leaf(retrograd)
    out = op(x, 2)
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    assert seen == [(True, False, False, False)] * 3


def cat_op(t: Any, name: str) -> Any:
    """Concatenates a list of vectors and multiplies."""

    def cat(xs: list[t.Tensor], k: int) -> t.Tensor:
        return t.cat(xs) * k

    return t.library.custom_op(name, cat, mutates_args=())


def remember_lengths(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep what the gradient of ``cat`` needs."""
    ctx.lengths, ctx.k = [x.shape[0] for x in inputs[0]], inputs[1]


def test_lists_of_tensors_c36() -> None:
    """C-36: a list argument gets a list of gradients, edges only for its tensors, nested needs_input_grad."""

    def program(t: Any) -> Any:
        flags: list[Any] = []

        def backward(ctx: Any, g: Any) -> Any:
            flags.append(ctx.needs_input_grad)
            return [part * ctx.k for part in g.split(ctx.lengths)], None

        op = cat_op(t, "rg_c36::cat")
        op.register_autograd(backward, setup_context=remember_lengths)
        x, y = leaf(t), t.ones(3)
        out = op([x, y], 2)
        edges = [node is None for node, _ in out.grad_fn.next_functions]
        out.sum().backward()
        return [flags, edges, x.grad, y.grad, op((t.ones(1), t.ones(1)), 3)]

    assert assert_agree(program).value[:2] == [[[[True, False], False]], [False, True]]


STRUCTURES: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "none for a list": (lambda ctx, g: (None, None), False),
    "short list": (lambda ctx, g: ([g[:2]], None), False),
    "tensor for a list": (lambda ctx, g: (g, None), False),
    "bare list": (lambda ctx, g: [g[:2], g[2:]], False),
    "tuple for a list": (lambda ctx, g: ((g[:2], g[2:]), None), False),
    "number in the list": (lambda ctx, g: ([g[:2], 3], None), False),
    "missing": (lambda ctx, g: ([g[:2], None],), False),
    "surplus": (lambda ctx, g: ([g[:2], None], None, None), False),
    "dictionary": (lambda ctx, g: ({0: g[:2], 1: None}, None), False),
    "none in the list": (lambda ctx, g: ([g[:2], None], None), True),
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_structure_of_list_gradients_c36(kind: str) -> None:
    """C-36: gradients must be nested exactly like the arguments."""
    backward, fits = STRUCTURES[kind]

    def program(t: Any) -> Any:
        op = cat_op(t, f"rg_c36_{kind.replace(' ', '_')}::cat")
        op.register_autograd(backward, setup_context=remember_lengths)
        x, y = leaf(t), t.ones(3)
        op([x, y], 2).sum().backward()
        return x.grad

    phrase = "" if fits else "Expected the return from backward to be of the same structure"
    assert assert_agree(program, phrase=phrase).error == ("" if fits else "RuntimeError")


def test_private_metadata_c36() -> None:
    """C-36: ``ctx._pt_metadata`` is taken in operators with list arguments."""

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx._pt_metadata = 3

    def program(t: Any) -> Any:
        op = cat_op(t, "rg_c36m::cat")
        op.register_autograd(lambda ctx, g: ([g, g], None), setup_context=setup)
        op([leaf(t), leaf(t)], 2)

    assert assert_agree(program, phrase="don't set ctx._pt_metadata").error == "RuntimeError"


def test_lists_as_results_c36() -> None:
    """C-36: a list result gets one list gradient; zeros stand for unused elements, None for numbers."""

    def program(t: Any) -> Any:
        def several(x: t.Tensor) -> tuple[t.Tensor, list[t.Tensor], int]:
            return x * 3, [x * 1, x * 2], 7

        def listed(x: t.Tensor) -> list[t.Tensor]:
            return [x * 1, x * 2]

        grads: list[Any] = []
        first = t.library.custom_op("rg_c36r::several", several, mutates_args=())
        first.register_autograd(lambda ctx, a, b, c: (grads.append([a, b, c]), a * 3 + b[0] + b[1] * 2)[1])
        second = t.library.custom_op("rg_c36r::listed", listed, mutates_args=())
        second.register_autograd(lambda ctx, g: (grads.append(g), g[0] + 2 * g[1])[1])
        x, y = leaf(t), leaf(t)
        out = first(x)
        (out[0] + out[1][1]).sum().backward()
        second(y)[1].sum().backward()
        return [type(out).__name__, type(out[1]).__name__, out[2], x.grad, y.grad, grads]

    assert_agree(program)


def test_optional_tensors_in_lists_c36() -> None:
    """C-36: a list that may hold None is tracked like any other (PyTorch loses its gradient without a word)."""

    def program(t: Any) -> Any:
        def second(xs: list[t.Tensor | None], y: t.Tensor | None = None) -> t.Tensor:
            return xs[1] * 2

        op = t.library.custom_op("rg_c36o::second", second, mutates_args=())
        op.register_autograd(lambda ctx, g: ([None, g * 2], None))
        x = leaf(t)
        op([None, x]).sum().backward()
        return x.grad.tolist()

    assert outcome(program, retrograd).value == [2.0, 2.0]


def test_operators_in_operators_c33() -> None:
    """C-33: an operator called by another's kernel is not recorded; the outer formula counts."""

    def program(t: Any) -> Any:
        inner = cube_op(t, "rg_c33n::cube")
        inner.register_autograd(cube_gradient, setup_context=save_input)

        def outer(x: t.Tensor) -> t.Tensor:
            return inner(x) * 2

        op = t.library.custom_op("rg_c33n::outer", outer, mutates_args=())
        op.register_autograd(lambda ctx, g: g * 7)
        x = leaf(t)
        op(x).sum().backward()
        return x.grad

    assert_agree(program)


def test_hooks_and_version_checks_c34() -> None:
    """C-34: what was saved is checked for writes like a Function's, and node hooks run."""

    def program(t: Any) -> Any:
        op = cube_op(t, "rg_c34v::cube")
        op.register_autograd(cube_gradient, setup_context=save_input)
        x = leaf(t)
        y = x * 1
        out = op(y)
        with t.no_grad():
            y.add_(1)
        out.sum().backward()

    assert assert_agree(program, phrase="modified by an inplace operation").error == "RuntimeError"


def test_the_graph_does_not_keep_arguments_alive_c33() -> None:
    """C-33: a recorded call keeps only what the context saved, and nothing once the result is gone."""
    gc.disable()
    try:
        op = cube_op(retrograd, "rg_c33w::cube")
        op.register_autograd(lambda ctx, g: g)
        x = leaf(retrograd)
        y = x * 1
        kept = weakref.ref(y)
        out = op(y)
        del y
        assert kept() is None
        node = weakref.ref(out.grad_fn)
        del out
        assert node() is None
    finally:
        gc.enable()


DEFAULTS = {
    "left out": ("(Tensor w, int x = 2)", lambda f, w: f(w), 1),
    "given all the same": ("(Tensor w, int x = 2)", lambda f, w: f(w, 2), 1),
    "of several": ("(Tensor w, int x = 2, float y = 1.0)", lambda f, w: f(w, 3), 2),
    "by name": ("(Tensor w, int x = 2, *, int y = 3)", lambda f, w: f(w, y=4), 1),
    "no tensor": ("(Tensor w, Tensor? x = None)", lambda f, w: f(w), 1),
    "a list": ("(Tensor w, int[] x = [1, 2])", lambda f, w: f(w), 1),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_no_gradients_for_defaults_c34(kind: str) -> None:
    """Backward returns gradients for the arguments that were given, or ``None`` for the others as well."""
    schema, call, given = DEFAULTS[kind]

    def program(t: Any) -> Any:
        found = []
        for count in range(1, 4):
            with t.library._scoped_library(f"defaults{count}", "FRAGMENT") as lib:
                lib.define(f"op{schema} -> Tensor")
                lib.impl("op", lambda w, *rest, **named: w * 2.0, "CPU")
                name = f"defaults{count}::op"
                t.library.register_autograd(name, lambda ctx, g, n=count: (g * 2, *[None] * (n - 1)), lib=lib)
                w = t.ones(2, requires_grad=True)
                try:
                    call(getattr(t.ops, f"defaults{count}").op, w).sum().backward()
                    found.append(w.grad)
                except RuntimeError:
                    found.append("refused")
        return [given, found]

    assert_agree(program)
