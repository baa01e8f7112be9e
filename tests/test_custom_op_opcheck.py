"""``library.opcheck`` finds broken operators and passes sound ones (C-41).

No postponed annotations here: the functions below are annotated with the types of the engine they are made for.
"""

from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_agree, outcome

import retrograd
import retrograd.library

ALL = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def sound(t: Any, name: str) -> Any:
    """An operator with everything it should have."""

    def scale(x: t.Tensor, k: int = 3) -> t.Tensor:
        return x * k

    op = t.library.custom_op(name, scale, mutates_args=())
    op.register_fake(lambda x, k=3: t.empty_like(x))
    op.register_autograd(
        lambda ctx, g: (g * ctx.k, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1])
    )
    return op


def leaf(t: Any) -> Any:
    """A vector that requires grad."""
    return t.tensor([1.0, 2.0], requires_grad=True)


def statuses(result: dict[str, Any]) -> dict[str, str]:
    """Success, or the kind of exception."""
    return {name: value if isinstance(value, str) else "failed" for name, value in result.items()}


@pytest.mark.parametrize("tracked", [True, False])
def test_sound_operators_pass_c41(tracked: bool) -> None:
    """C-41: every test succeeds, by definition, packet or overload, by position or keyword; on copies."""

    def program(t: Any) -> Any:
        op = sound(t, f"rg_c41_{tracked}::scale")
        x = t.ones(2, requires_grad=tracked)
        packet = getattr(t.ops, f"rg_c41_{tracked}").scale
        results = [t.library.opcheck(o, (x, 2)) for o in (op, packet, packet.default)]
        results.append(t.library.opcheck(op, (), {"x": x}))
        return [results, x._version, x.grad]

    assert assert_agree(program).value[0] == [dict.fromkeys(ALL, "SUCCESS")] * 4


def missing_fake(t: Any) -> Any:
    def f(x: t.Tensor) -> t.Tensor:
        return x.clone()

    return t.library.custom_op("rg_c41a::f", f, mutates_args=())


def missing_formula(t: Any) -> Any:
    def f(x: t.Tensor) -> t.Tensor:
        return x.clone()

    op = t.library.custom_op("rg_c41b::f", f, mutates_args=())
    op.register_fake(lambda x: t.empty_like(x))
    return op


def undeclared_write(t: Any) -> Any:
    def f(x: t.Tensor) -> t.Tensor:
        x.add_(1)
        return x.clone()

    op = t.library.custom_op("rg_c41c::f", f, mutates_args=())
    op.register_fake(lambda x: t.empty_like(x))
    return op


def wrong_shape(t: Any) -> Any:
    op = missing_formula(t)
    op.register_fake(lambda x: x.new_empty(7))
    return op


def wrong_dtype(t: Any) -> Any:
    op = missing_formula(t)
    op.register_fake(lambda x: x.new_empty(2, dtype=t.float64))
    return op


def aliasing_fake(t: Any) -> Any:
    op = missing_formula(t)
    op.register_fake(lambda x: x)
    return op


BROKEN: dict[str, tuple[Callable[[Any], Any], bool, str, str]] = {
    "no fake": (missing_fake, False, "test_faketensor", "There was no fake impl registered"),
    "no formula": (missing_formula, True, "test_aot_dispatch_dynamic", "no autograd formula was registered"),
    "undeclared write": (undeclared_write, False, "test_schema", "is not defined as mutable but was mutated"),
    "shape": (wrong_shape, False, "test_faketensor", "found mismatched tensor metadata: Shapes"),
    "dtype": (wrong_dtype, False, "test_faketensor", "found mismatched tensor metadata: Dtypes"),
    "alias": (aliasing_fake, False, "test_faketensor", "outputs_alias_inputs check True != False"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_operators_are_found_c41(kind: str) -> None:
    """C-41: the first failure raises OpCheckError that names the test and the reason."""
    make, tracked, test, phrase = BROKEN[kind]

    def program(t: Any) -> Any:
        return t.library.opcheck(make(t), (t.ones(2, requires_grad=tracked),))

    found = assert_agree(program, phrase=f"opcheck(op, ...): {test} failed with")
    assert found.error == "OpCheckError"
    assert phrase in found.message


def test_all_failures_are_reported_c41() -> None:
    """C-41: with ``raise_exception=False`` every test has its result."""

    def program(t: Any) -> Any:
        return statuses(t.library.opcheck(missing_fake(t), (t.ones(2),), raise_exception=False))

    assert assert_agree(program).value["test_faketensor"] == "failed"


def test_undeclared_aliases_c41() -> None:
    """C-41: a library's operator that returns a view without saying so."""

    def program(t: Any) -> Any:
        with t.library._scoped_library("rg_c41d", "FRAGMENT") as lib:
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x.view(-1), "CompositeExplicitAutograd")
            return t.library.opcheck(t.ops.rg_c41d.f.default, (t.ones(2),))

    found = assert_agree(program, phrase="is not defined to alias output but was aliasing")
    assert found.error == "OpCheckError"


def test_gradient_without_autograd_kernel_c41() -> None:
    """C-41: results require grad although nobody registered a gradient."""

    def program(t: Any) -> Any:
        with t.library._scoped_library("rg_c41e", "FRAGMENT") as lib:
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x * 2, "CPU")
            return t.library.opcheck(t.ops.rg_c41e.f.default, (leaf(t),), test_utils="test_autograd_registration")

    found = assert_agree(program, phrase="does not have an autograd kernel defined")
    assert found.error == "OpCheckError"


MISUSES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "unknown test": (
        lambda t, op: t.library.opcheck(op, (leaf(t),), test_utils="nope"),
        "expected test_utils to be subset",
    ),
    "no operator": (lambda t, op: t.library.opcheck(3, (leaf(t),)), "op must be instance of torch._ops.OpOverload"),
    "only atol": (lambda t, op: t.library.opcheck(op, (leaf(t),), atol=1), "you must specify both"),
    "only rtol": (lambda t, op: t.library.opcheck(op, (leaf(t),), rtol=1), "you must specify both"),
}


@pytest.mark.parametrize("kind", MISUSES)
def test_misuse_c41(kind: str) -> None:
    """C-41: unknown tests, things that are no operator, half a tolerance."""
    call, phrase = MISUSES[kind]
    name = f"rg_c41f_{kind.replace(' ', '_')}::scale"
    assert assert_agree(lambda t: call(t, sound(t, name)), phrase=phrase).error == "ValueError"


def test_chosen_tests_c41() -> None:
    """C-41: only the named tests run, in their order."""

    def program(t: Any) -> Any:
        op = sound(t, "rg_c41g::scale")
        return list(t.library.opcheck(op, (leaf(t),), test_utils=["test_faketensor", "test_schema"], atol=1, rtol=1))

    assert assert_agree(program).value == ["test_faketensor", "test_schema"]


def test_unsteady_operators_fail_c41() -> None:
    """C-41: an operator whose second run gives something else fails the last test."""
    calls = [0]

    def f(x: retrograd.Tensor) -> retrograd.Tensor:
        calls[0] += 1
        return x * calls[0]

    op = retrograd.library.custom_op("rg_c41h::f", f, mutates_args=())
    op.register_fake(lambda x: retrograd.empty_like(x))
    found = outcome(lambda t: t.library.opcheck(op, (t.ones(2),), test_utils="test_aot_dispatch_dynamic"), retrograd)
    assert found.error == "OpCheckError"
    assert "differ between two runs" in found.message


def test_gradient_without_data_c41() -> None:
    """C-41: the last test also runs the gradient on stand-ins without data, so a kernel it calls needs a fake one."""
    inner = missing_fake(retrograd)

    def f(x: retrograd.Tensor) -> retrograd.Tensor:
        return x.clone()

    op = retrograd.library.custom_op("rg_c41j::f", f, mutates_args=())
    op.register_fake(lambda x: retrograd.empty_like(x))
    op.register_autograd(lambda ctx, g: inner(g))
    found = outcome(lambda t: t.library.opcheck(op, (leaf(t),)), retrograd)
    assert found.error == "OpCheckError"
    assert "test_aot_dispatch_dynamic failed with There was no fake impl registered" in found.message


def test_writing_operators_c41() -> None:
    """C-41: declared writes pass, on copies of the arguments."""

    def program(t: Any) -> Any:
        def double_(x: t.Tensor) -> None:
            x.mul_(2)

        op = t.library.custom_op("rg_c41i::double_", double_, mutates_args=("x",))
        x = t.ones(2)
        return [t.library.opcheck(op, (x,)), x, x._version]

    assert_agree(program)
