"""Today's custom operators: declaring, calling, kernels, aliasing, registration by name (C-27 to C-32, C-37 to C-43).

No postponed annotations here: the functions below are annotated with the types of the engine they are made for.
"""

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree, differential, outcome, raises
from fake_calls import on_fakes

import retrograd
import retrograd.library


def scale(t: Any) -> Any:
    """x times k."""

    def scale(x: t.Tensor, k: int = 3) -> t.Tensor:
        return x * k

    return scale


def declare(t: Any, name: str, make: Callable[[Any], Any] = scale, **options: Any) -> Any:
    """Declare an operator."""
    options.setdefault("mutates_args", ())
    return t.library.custom_op(name, make(t), **options)


def leaf(t: Any, *values: float) -> Any:
    """A vector that requires grad."""
    return t.tensor(values or (1.0, 2.0), requires_grad=True)


def test_declaration_c27() -> None:
    """C-27: decorator or call; the function is the kernel; the operator is in the registry."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c27::scale")

        @t.library.custom_op("rg_c27::other", mutates_args=())
        def other(x: t.Tensor) -> t.Tensor:
            return x + 1

        entry = t.ops.rg_c27.scale
        return [
            repr(op), op(t.ones(2), 2), entry(t.ones(2)), entry.default(t.ones(2), k=4), str(entry), str(entry.default),
            entry.overloads(), str(entry.default._schema), entry.default.name(), repr(other), other(t.ones(1)),
        ]  # fmt: skip

    assert assert_agree(program).value[0] == "<CustomOpDef(rg_c27::scale)>"


MISUSES: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "no mutates_args": (lambda t: t.library.custom_op("rg_c27m::f", scale(t)), "TypeError", "mutates_args"),
    "schema and writes": (
        lambda t: declare(t, "rg_c27m::f", mutates_args=("x",), schema="(Tensor x, int k) -> Tensor"),
        "ValueError",
        "Please make these consistent",
    ),
    "writes and schema": (
        lambda t: declare(t, "rg_c27m::f", schema="(Tensor(a!) x, int k) -> ()"),
        "ValueError",
        "Please make these consistent",
    ),
    "text": (lambda t: declare(t, "rg_c27m::f", mutates_args="x"), "ValueError", "or the string 'unknown'"),
    "unknown operator": (lambda t: t.ops.rg_c27m.nope, "AttributeError", "has no attribute 'nope'"),
    "unknown overload": (
        lambda t: (declare(t, "rg_c27o::scale"), t.ops.rg_c27o.scale.nope),
        "AttributeError",
        "has no overload name 'nope'",
    ),
}


@pytest.mark.parametrize("kind", MISUSES)
def test_refused_declarations_c27(kind: str) -> None:
    """C-27: what is missing or contradictory, and names that are not in the registry."""
    program, error, phrase = MISUSES[kind]
    assert assert_agree(program, phrase=phrase).error == error


def test_name_without_namespace_c27() -> None:
    """C-27: a name without ``::`` is a ValueError."""
    assert assert_agree(lambda t: declare(t, "scale")).error == "ValueError"


def test_schema_given_as_text_c27() -> None:
    """C-27: a given schema needs no annotations."""

    def plain(t: Any) -> Any:
        def f(x, k=2):  # noqa: ANN001, ANN202
            return x * k

        return f

    def program(t: Any) -> Any:
        op = declare(t, "rg_c27s::f", plain, schema="(Tensor x, int k=2) -> Tensor")
        return [op(t.ones(2)), op(t.ones(2), k=5)]

    assert_agree(program)


CALLS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "missing": (lambda t, op: op(), "is missing value for argument 'x'"),
    "number for a tensor": (lambda t, op: op(3), "Expected a value of type 'Tensor' for argument 'x'"),
    "list for a tensor": (lambda t, op: op([t.ones(2)]), "Expected a value of type 'Tensor' for argument 'x'"),
    "float for an int": (lambda t, op: op(t.ones(2), 2.5), "Expected a value of type 'int' for argument 'k'"),
    "too many": (lambda t, op: op(t.ones(2), 1, 2), "expected at most 2 argument(s) but received 3"),
    "unknown": (lambda t, op: op(t.ones(2), z=2), "Unknown keyword argument 'z'"),
    "twice": (lambda t, op: op(t.ones(2), x=t.ones(2)), "specified both as positional and keyword"),
}


@pytest.mark.parametrize("kind", CALLS)
def test_wrong_calls_c28(kind: str) -> None:
    """C-28: arguments are checked against the schema before anything runs."""
    call, phrase = CALLS[kind]
    name = f"rg_c28_{kind.replace(' ', '_')}::scale"
    assert assert_agree(lambda t: call(t, declare(t, name)), phrase=phrase).error == "RuntimeError"


def test_accepted_calls_c28() -> None:
    """C-28: keywords, defaults, and values that count as integers."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c28::scale")
        x = t.ones(2)
        return [op(x), op(x=x, k=4), op(k=2, x=x), op(x, True), op(x, t.tensor(5)), op(x, np.int64(6))]

    assert_agree(program)


def writer(t: Any) -> Any:
    """Adds y to x in place."""

    def add_(x: t.Tensor, y: t.Tensor) -> None:
        x.detach().add_(y)

    return add_


def reader(t: Any) -> Any:
    """Says that it writes and does not."""

    def read(x: t.Tensor, y: t.Tensor) -> t.Tensor:
        return x + y

    return read


def test_writing_operators_c29() -> None:
    """C-29: the schema says so, the version rises once per call, and leaves and history are not protected."""

    def program(t: Any) -> Any:
        unknown, some = (
            declare(t, "rg_c29::u", reader, mutates_args="unknown"),
            declare(t, "rg_c29::s", reader, mutates_args=["y"]),
        )
        texts = [str(op._opoverload._schema) for op in (unknown, some)]
        x, y = t.ones(2), t.ones(2)
        unknown(x, y)
        some(x, y)
        versions = [x._version, y._version]
        some(y, y)
        unknown(x, x)
        w = leaf(t)
        some(x, w)
        h = w * 2
        some(x, h)
        return [texts, versions, x._version, y._version, w._version, h._version, type(h.grad_fn).__name__]

    found = assert_agree(program)
    assert found.value[0][0] == "rg_c29::u(Tensor(a0!) x, Tensor(a1!) y) -> Tensor"
    assert found.value[1] == [1, 2]


def test_version_rises_before_the_kernel_c29() -> None:
    """C-29: inside the kernel the version has already risen."""

    def program(t: Any) -> Any:
        seen: list[int] = []

        def touch(x: t.Tensor) -> None:
            seen.append(x._version)

        op = t.library.custom_op("rg_c29b::touch", touch, mutates_args=("x",))
        x = t.ones(2)
        return [op(x), seen, x._version]

    assert assert_agree(program).value == [None, [1], 1]


def test_writing_operators_have_no_gradient_c34() -> None:
    """C-34: an operator that writes cannot register a gradient."""
    found = assert_agree(
        lambda t: declare(t, "rg_c34w::add_", writer, mutates_args=("x",)).register_autograd(lambda ctx, g: g),
        phrase="non-functional operator",
    )
    assert found.error == "RuntimeError"


def test_kernels_by_device_c31() -> None:
    """C-31: kernels per device, replacement, the default for the rest, and switching one off for a block."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c31::scale")
        x = t.ones(1)
        values = [op(x)]

        @op.register_kernel("cpu")
        def first(x: Any, k: int = 3) -> Any:
            return x * 10

        values.append(op(x))
        op.register_kernel("cpu", lambda x, k=3: x * 20)
        values.append(op(x))
        with op.set_kernel_enabled("cpu", enabled=False):
            values.append(op(x))
            with op.set_kernel_enabled("cpu"):
                values.append(op(x))
            values.append(op(x))
        values.append(op(x))
        op.set_kernel_enabled("cpu", False)  # without a block nothing changes
        values.append(op(x))
        return [value.item() for value in values]

    assert assert_agree(program).value == [3, 10, 20, 3, 20, 3, 20, 20]


def test_operator_for_another_device_c31() -> None:
    """C-31: without a kernel for the tensors' device the call fails until one is registered."""

    def program(t: Any) -> Any:
        return declare(t, "rg_c31b::scale", device_types="cuda")(t.ones(1))

    def later(t: Any) -> Any:
        op = declare(t, "rg_c31c::scale", device_types="cuda")
        op.register_kernel("cpu", lambda x, k=3: x * 7)
        return op(t.ones(1))

    assert assert_agree(program, phrase="Could not run 'rg_c31b::scale'").error == "NotImplementedError"
    assert_agree(later)


def factory(t: Any) -> Any:
    def make(n: int) -> t.Tensor:
        return t.ones(n)

    return make


def factory_on(t: Any) -> Any:
    def make(n: int, device: t.device) -> t.Tensor:
        return t.ones(n)

    return make


def test_operators_without_tensors_c31() -> None:
    """C-31: a kernel for a device needs a ``device`` argument to choose by."""

    def without(t: Any) -> Any:
        op = declare(t, "rg_c31d::make", factory)
        assert op(2).tolist() == [1.0, 1.0]
        op.register_kernel("cpu", lambda n: t.zeros(n))

    def with_device(t: Any) -> Any:
        op = declare(t, "rg_c31e::make", factory_on)
        before = op(2, t.device("cpu"))
        op.register_kernel("cpu", lambda n, device: t.zeros(n))
        return [before, op(2, t.device("cpu")), op(2, device="cpu")]

    found = assert_agree(without, phrase="required to have a `device: torch.device` argument")
    assert found.error == "ValueError"
    assert_agree(with_device)


RESULTS: dict[str, Callable[[Any], Any]] = {
    "the input": lambda x: x,
    "a slice": lambda x: x[1:],
    "a view": lambda x: x.view(-1),
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_results_are_new_c32(kind: str) -> None:
    """C-32: neither the input nor anything in its memory may be returned."""

    def program(t: Any) -> Any:
        def f(x: t.Tensor) -> t.Tensor:
            return RESULTS[kind](x)

        return t.library.custom_op(f"rg_c32_{kind.replace(' ', '_')}::f", f, mutates_args=())(t.ones(3))

    found = assert_agree(program, phrase="must not also be an input")
    assert found.error == "RuntimeError"
    assert "may not alias" in found.message


def test_results_do_not_share_memory_c32() -> None:
    """C-32: the same tensor twice, or a view of another result, in a tuple or a list."""

    def twice(t: Any) -> Any:
        def f(x: t.Tensor) -> tuple[t.Tensor, t.Tensor]:
            y = x.clone()
            return y, y

        return t.library.custom_op("rg_c32t::f", f, mutates_args=())(t.ones(3))

    def listed(t: Any) -> Any:
        def f(x: t.Tensor) -> list[t.Tensor]:
            y = x.clone()
            return [y, y[1:]]

        return t.library.custom_op("rg_c32l::f", f, mutates_args=())(t.ones(3))

    for program in (twice, listed):
        assert assert_agree(program, phrase="may not alias").error == "RuntimeError"


WRONG_RESULTS: dict[str, tuple[str, Any, str]] = {
    "number": ("Tensor", 3, "RuntimeError"),
    "one of two": ("(Tensor, Tensor)", "clone", "TypeError"),
    "something for nothing": ("()", "clone", "RuntimeError"),
    "float for int": ("int", 3.5, "RuntimeError"),
}


@pytest.mark.parametrize("kind", WRONG_RESULTS)
def test_results_are_checked_c27(kind: str) -> None:
    """C-27: what a kernel returns must be what the schema declares."""
    declared, value, error = WRONG_RESULTS[kind]

    def program(t: Any) -> Any:
        def f(x):  # noqa: ANN001, ANN202
            return x.clone() if value == "clone" else value

        name = f"rg_c27r_{kind.replace(' ', '_')}::f"
        return t.library.custom_op(name, f, mutates_args=(), schema=f"(Tensor x) -> {declared}")(t.ones(2))

    assert assert_agree(program).error == error


def test_structures_of_results_c27() -> None:
    """C-27: lists become tuples or stay lists as declared, numbers keep their kind."""

    def program(t: Any) -> Any:
        def several(x: t.Tensor) -> tuple[t.Tensor, list[t.Tensor], int, float, bool]:
            return [x * 1, (x * 2,), 3, 2, True]

        def one(x: t.Tensor) -> tuple[t.Tensor]:
            return (x * 1,)

        out = t.library.custom_op("rg_c27x::several", several, mutates_args=())(t.ones(2))
        single = t.library.custom_op("rg_c27x::one", one, mutates_args=())(t.ones(2))
        return [type(out).__name__, [type(v).__name__ for v in out], out, type(single).__name__, single]

    assert_agree(program)


def inplace(t: Any) -> Any:
    def add_(x: t.Tensor, y: t.Tensor) -> t.Tensor:
        x.add_(y)
        return x

    return add_


def out_form(t: Any) -> Any:
    def copy(x: t.Tensor, *, out: t.Tensor) -> t.Tensor:
        out.copy_(x)
        return out

    return copy


def wrong_inplace(t: Any) -> Any:
    def add_(x: t.Tensor, y: t.Tensor) -> t.Tensor:
        return x + y

    return add_


def wrong_out(t: Any) -> Any:
    def copy(x: t.Tensor, *, out: t.Tensor) -> t.Tensor:
        return x.clone()

    return copy


def test_inplace_tag_c37() -> None:
    """C-37: an operator tagged in-place writes its first argument and returns it."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c37::add_", inplace, mutates_args=("x",), tags=t.Tag.inplace)
        x = t.ones(2)
        result = op(x, x.clone())
        return [op._schema, result is x, x, x._version]

    assert assert_agree(program).value[0] == "(Tensor(a0!) x, Tensor y) -> Tensor(a0!)"


def test_out_tag_c37() -> None:
    """C-37: an operator tagged out returns its keyword-only arguments and refuses to be differentiated."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c37b::copy", out_form, mutates_args=("out",), tags=t.Tag.out)
        x, out = t.ones(2), t.zeros(2)
        result = op(x, out=out)
        with t.no_grad():
            op(leaf(t), out=out)
        return [op._schema, result is out, out, out._version]

    def tracked(t: Any) -> Any:
        declare(t, "rg_c37c::copy", out_form, mutates_args=("out",), tags=t.Tag.out)(leaf(t), out=t.zeros(2))

    def registered(t: Any) -> Any:
        op = declare(t, "rg_c37d::copy", out_form, mutates_args=("out",), tags=t.Tag.out)
        op.register_autograd(lambda ctx, g: g)

    assert_agree(program)
    phrase = "functions with out=... arguments don't support automatic differentiation"
    assert assert_agree(tracked, phrase=phrase).error == "RuntimeError"
    assert assert_agree(registered, phrase="Out variants do not support autograd").error == "RuntimeError"


TAGGED: dict[str, tuple[Callable[[Any], Any], tuple[str, ...], str, str]] = {
    "returns something else": (wrong_inplace, ("x",), "inplace", "must return its first argument"),
    "returns no out": (wrong_out, ("out",), "out", "must return its mutable keyword-only arguments"),
}


@pytest.mark.parametrize("kind", TAGGED)
def test_tags_are_held_c37(kind: str) -> None:
    """C-37: a tagged operator that returns something else fails when it is called."""
    make, writes, tag, phrase = TAGGED[kind]

    def program(t: Any) -> Any:
        op = declare(t, f"rg_c37_{tag}::f", make, mutates_args=writes, tags=[getattr(t.Tag, tag)])
        return op(t.ones(2), t.ones(2)) if tag == "inplace" else op(t.ones(2), out=t.ones(2))

    assert assert_agree(program, phrase=phrase).error == "RuntimeError"


TAG_DECLARATIONS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...], str, str]] = {
    "inplace, nothing returned": (writer, ("x",), "inplace", "requires the return annotation to be torch.Tensor"),
    "inplace, second": (inplace, ("y",), "inplace", "exactly the first positional argument"),
    "inplace, none": (inplace, (), "inplace", "exactly the first positional argument"),
    "out, positional": (inplace, ("x",), "out", "requires mutable arguments to be keyword-only"),
    "out, none": (out_form, (), "out", "at least one mutable keyword-only Tensor argument"),
}


@pytest.mark.parametrize("kind", TAG_DECLARATIONS)
def test_tagged_declarations_c37(kind: str) -> None:
    """C-37: a tag that does not fit the declaration."""
    make, writes, tag, phrase = TAG_DECLARATIONS[kind]

    def program(t: Any) -> Any:
        declare(t, "rg_c37e::f", make, mutates_args=writes, tags=getattr(t.Tag, tag))

    assert assert_agree(program, phrase=phrase).error == "ValueError"


def test_fake_kernels_c38() -> None:
    """C-38: the fake kernel is only needed for data-less tensors; the last registration counts."""
    op = declare(retrograd, "rg_c38::scale")
    x = retrograd.ones(2, 3)
    assert tuple(op(x).shape) == (2, 3)
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        on_fakes(op, x)

    @op.register_fake
    def fake(x: Any, k: int = 3) -> Any:
        return x.new_empty(4)

    assert tuple(on_fakes(op, x).shape) == (4,)
    retrograd.library.register_fake("rg_c38::scale", lambda x, k=3: x.new_empty(5))
    assert tuple(on_fakes(op, x).shape) == (5,)
    assert tuple(op(x).shape) == (2, 3)


def test_fake_kernels_of_tagged_operators_c37() -> None:
    """C-37: in-place and out operators, and those that return nothing, need no fake kernel."""
    op = declare(retrograd, "rg_c38b::add_", inplace, mutates_args=("x",), tags=retrograd.Tag.inplace)
    assert tuple(on_fakes(op, retrograd.ones(2), retrograd.ones(2)).shape) == (2,)
    silent = declare(retrograd, "rg_c38b::silent", writer, mutates_args=("x",))
    assert on_fakes(silent, retrograd.ones(2), retrograd.ones(2)) is None


def test_redefinition_c39() -> None:
    """C-39: declaring a name again replaces the operator, on our engine also behind the older handles.

    PyTorch frees what its older handles point to: calling one there has crashed the process.
    """

    def program(t: Any) -> Any:
        first = declare(t, "rg_c39::f")
        entry = t.ops.rg_c39.f
        before = first(t.ones(1))

        def f(x: t.Tensor, k: int, j: int) -> t.Tensor:
            return x * k * j

        second = t.library.custom_op("rg_c39::f", f, mutates_args=())
        older = [op(t.ones(1), 5, 4).item() for op in (first, entry)] if t is retrograd else [20.0, 20.0]
        return [before.item(), second(t.ones(1), 5, 4).item(), *older]

    assert assert_agree(program).value == [3, 20, 20, 20]


def test_keyword_only_tensors_c40() -> None:
    """C-40: tensors cannot be keyword-only."""

    def make(t: Any) -> Any:
        def f(x: t.Tensor, *, y: t.Tensor) -> t.Tensor:
            return x + y

        return f

    found = assert_agree(lambda t: declare(t, "rg_c40::f", make), phrase="custom_op with kwarg-only Tensor args")
    assert found.error == "NotImplementedError"


def test_registration_by_name_c42() -> None:
    """C-42: gradient, fake kernel and kernels can be registered by name, operator or definition."""

    def program(t: Any) -> Any:
        op = declare(t, "rg_c42::scale")
        t.library.register_autograd("rg_c42::scale", lambda ctx, g: (g * 3, None))
        x = leaf(t)
        op(x).sum().backward()
        t.library.register_kernel("rg_c42::scale", "cpu")(lambda x, k=3: x * 11)
        t.library.register_fake(op)(lambda x, k=3: t.empty_like(x))
        t.library.register_fake(t.ops.rg_c42.scale.default, lambda x, k=3: t.empty_like(x))
        return [x.grad, op(t.ones(1))]

    assert_agree(program)


NAMED: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "unknown": (lambda t: t.library.register_autograd("rg_c42::nope", lambda ctx, g: g), "AttributeError", "nope"),
    "unknown, fake": (lambda t: t.library.register_fake("rg_c42::nope", abs), "RuntimeError", "does not exist"),
    "number, gradient": (lambda t: t.library.register_autograd(3, abs), "ValueError", "got unexpected type"),
    "number, fake": (lambda t: t.library.register_fake(3, abs), "ValueError", "got unexpected type"),
    "number, kernel": (lambda t: t.library.register_kernel(3, "cpu", abs), "ValueError", "got unexpected type"),
    "no namespace": (lambda t: t.library.register_autograd("nope", abs), "ValueError", "namespace::name"),
}


@pytest.mark.parametrize("kind", NAMED)
def test_failed_registration_by_name_c42(kind: str) -> None:
    """C-42: unknown operators and things that are none."""
    program, error, phrase = NAMED[kind]
    assert assert_agree(program, phrase=phrase).error == error


@pytest.mark.parametrize(
    "call",
    [
        lambda op: retrograd.library.register_autocast("rg_c43::scale", "cpu", retrograd.float16),
        lambda op: retrograd.library.register_torch_dispatch("rg_c43::scale", object, abs),
        lambda op: op.register_autocast("cpu", retrograd.float16),
        lambda op: op.register_torch_dispatch(object, abs),
        lambda op: op.register_effect(None),
        lambda op: retrograd.library.triton_op("rg_c43::t", abs, mutates_args=()),
    ],
)
def test_out_of_scope_registrations_c43(call: Callable[[Any], Any]) -> None:
    """C-43: registrations for subsystems that do not exist here have their names and say so."""
    op = declare(retrograd, "rg_c43::scale")
    with pytest.raises(NotImplementedError, match=r"not available in retrograd: .*\. [A-Z].*\.$"):
        call(op)


@differential
def test_rules_for_batches_c43(torch: Any) -> Any:
    """C-43: the rule is asked where ``vmap`` maps the operator, however it was registered; its faults are named."""
    seen: list[Any] = []
    library = torch.library

    def rule(info: Any, in_dims: Any, x: Any, factor: float = 1.0) -> Any:
        seen.append((info.batch_size, in_dims, list(x.shape), factor))
        return x * factor + 1, in_dims[0]

    op = library.custom_op("rg_c43::scaled", lambda x, factor=1.0: x * factor, mutates_args=(),
                           schema="(Tensor x, float factor=1.0) -> Tensor")  # fmt: skip
    registered = op.register_vmap(rule)
    x = torch.arange(6.0).reshape(2, 3)
    mapped = [torch.vmap(op)(x), torch.vmap(op, in_dims=1, out_dims=1)(x), torch.vmap(op, in_dims=(0, None))(x, 3.0),
              torch.vmap(torch.ops.rg_c43.scaled)(x), torch.vmap(torch.ops.rg_c43.scaled.default)(x)]  # fmt: skip
    library.register_vmap("rg_c43::scaled")(lambda info, in_dims, x: (x - 1, 0))
    mapped.append(torch.vmap(op)(x))
    library.register_vmap(op, lambda info, in_dims, x: x)
    refused = [raises("to have two returns", torch.vmap(op), x),
               raises("got unexpected type", library.register_vmap, 3, rule),
               raises("has no attribute", library.register_vmap, "rg_c43::nope", rule)]  # fmt: skip
    return registered, seen, mapped, refused


def test_operators_map_over_batches_without_a_rule_c43() -> None:
    """C-43: without a rule vmap calls an operator for each entry; results are PyTorch's."""

    def program(t: Any) -> Any:
        @t.library.custom_op("rg_c43::doubled", mutates_args=())
        def doubled(x: t.Tensor) -> t.Tensor:  # type: ignore[name-defined]
            return t.as_tensor(x.numpy() * 2)

        with warnings.catch_warnings():  # PyTorch says that entry by entry is slow
            warnings.simplefilter("ignore")
            return t.func.vmap(doubled)(t.arange(6.0).reshape(3, 2))

    assert assert_agree(program).error == ""


def test_libraries_c42() -> None:
    """C-42: operators declared by schema text in a library, their kernels, gradient and end."""

    def program(t: Any) -> Any:
        x = leaf(t)
        with t.library._scoped_library("rg_lib", "FRAGMENT") as lib:
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x * 2, "CompositeExplicitAutograd")
            plain = type(t.ops.rg_lib.f(x).grad_fn).__name__
            t.library.register_autograd("rg_lib::f", lambda ctx, g: g * 2, lib=lib)
            own = type(t.ops.rg_lib.f(x).grad_fn).__name__
            t.ops.rg_lib.f(x).sum().backward()
            lib.define("g(Tensor x) -> Tensor")
            lib.impl("g", lambda x: x * 7, "Autograd")
            values = [plain, own, x.grad, t.ops.rg_lib.g(x).detach()]
        return [*values, hasattr(t.ops.rg_lib, "f")]

    found = assert_agree(program)
    assert found.value[1] == "GeneratedBackwardFor_rg_lib_f_defaultBackward"
    assert found.value[4] is False


def test_lifetime_of_libraries_c42() -> None:
    """C-42: operators and kernels vanish with the library that registered them; IMPL libraries declare nothing."""

    def program(t: Any) -> Any:
        def declared() -> Any:
            lib = t.library.Library("rg_lib5", "FRAGMENT")
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x * 2, "CPU")
            return t.ops.rg_lib5.f(t.ones(1))

        def kernel() -> Any:
            lib = t.library.Library("rg_lib5", "IMPL", "CPU")
            lib.impl("g", lambda x: x * 3)
            return t.ops.rg_lib5.g(t.ones(1))

        first = declared()
        gc.collect()
        kept = t.library.Library("rg_lib5", "FRAGMENT")
        kept.define("g(Tensor x) -> Tensor")
        second = kernel()
        gc.collect()
        gone = hasattr(t.ops.rg_lib5, "f")
        try:
            t.ops.rg_lib5.g(t.ones(1))
        except NotImplementedError:
            return [first, second, gone]
        finally:
            kept._destroy()

    def declares(t: Any) -> Any:
        t.library.Library("rg_lib5", "IMPL").define("h(Tensor x) -> Tensor")

    assert assert_agree(program).value[2] is False
    assert assert_agree(declares, phrase="Cannot define an operator inside").error == "RuntimeError"


def test_functions_by_name_register_for_good_c42() -> None:
    """C-42: ``define`` and ``impl`` without a library keep what they register."""

    def program(t: Any) -> Any:
        t.library.define("rg_lib6::f", "(Tensor x) -> Tensor")

        @t.library.impl("rg_lib6::f", "cpu")
        def f(x: Any) -> Any:
            return x * 8

        gc.collect()
        return t.ops.rg_lib6.f(t.ones(1))

    assert_agree(program)


LIBRARIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "kind": (lambda t: t.library.Library("rg_lib2", "SOMETHING"), "ValueError"),
    "reserved": (lambda t: t.library.Library("prim", "DEF"), "ValueError"),
    "key": (lambda t: t.library.Library("rg_lib2", "FRAGMENT").impl("f", abs, "Nowhere"), "RuntimeError"),
    "no name": (lambda t: t.library.Library("rg_lib2", "FRAGMENT").define("(Tensor x) -> Tensor"), "RuntimeError"),
    "define": (lambda t: t.library.define("nope", "(Tensor x) -> Tensor"), "ValueError"),
    "device": (lambda t: t.library.impl("rg_lib2::f", "nowhere")(abs), "RuntimeError"),
}


@pytest.mark.parametrize("kind", LIBRARIES)
def test_library_misuse_c42(kind: str) -> None:
    """C-42: what a library refuses."""
    program, error = LIBRARIES[kind]
    assert assert_agree(program).error == error


def test_defining_twice_c42() -> None:
    """C-42: a library does not replace an operator."""

    def program(t: Any) -> Any:
        with t.library._scoped_library("rg_lib3", "FRAGMENT") as lib:
            lib.define("f(Tensor x) -> Tensor")
            lib.define("f(Tensor x) -> Tensor")

    assert assert_agree(program, phrase="Tried to register an operator").error == "RuntimeError"


def test_kernels_before_the_declaration_c42() -> None:
    """C-42: a kernel may be registered before its operator is declared."""

    def program(t: Any) -> Any:
        with t.library._scoped_library("rg_lib4", "FRAGMENT") as lib:
            lib.impl("f", lambda x: x * 2, "CPU")
            lib.define("f(Tensor x) -> Tensor")
            return t.ops.rg_lib4.f(t.ones(2))

    assert_agree(program)


def test_meta_tensors_are_not_needed_c38() -> None:
    """C-38: nothing about a declared operator is fake unless asked for."""
    assert outcome(lambda t: declare(t, "rg_c38c::scale")(t.ones(2)).tolist(), retrograd).value == [3.0, 3.0]


@differential
def test_older_forms_of_define_and_impl(torch: Any) -> Any:
    """C: ``@impl(library, name, key)`` and ``@define(library, schema)`` decorate the kernel, which stays a function."""
    library = torch.library.Library("rg_older", "DEF")

    @torch.library.define(library, "more(Tensor x) -> Tensor")
    def more(x: Any) -> Any:
        return x + 1

    library.define("half(Tensor x) -> Tensor")

    @torch.library.impl(library, "half", "CPU")
    def half(x: Any) -> Any:
        return x / 2

    library.define("twice(Tensor x) -> Tensor")
    twice = torch.library.impl(library, "twice")(lambda x: x * 2)
    ops, x = torch.ops.rg_older, torch.ones(2)
    return ops.more(x), more(x), ops.half(x), half(x), ops.twice(x), twice(x)


@differential
def test_C_38_tensors_without_memory_run_the_fake_kernel(t: Any) -> Any:
    """Row C-38: on device='meta' an operator of the program gives what its fake kernel gives, also with gradients."""
    op = declare(t, "without_memory::scale")
    refused = raises("no fake impl registered", op, t.ones(2, device="meta"))
    op.register_fake(lambda x, k=3: t.empty_like(x))
    op.register_autograd(lambda ctx, g: (g * 2, None))
    x = t.ones(2, 3, device="meta", requires_grad=True)
    y = op(x)
    y.sum().backward()
    return refused, tuple(y.shape), y.device.type, tuple(x.grad.shape), x.grad.device.type
