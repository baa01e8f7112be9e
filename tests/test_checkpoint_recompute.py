"""Checkpointing by recomputation, ``use_reentrant=False``: values, counts, mismatches, groups, lifetimes."""

from __future__ import annotations

import contextlib
import gc
import importlib
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_agree, outcome

import retrograd


def module(t: Any) -> Any:
    """``utils.checkpoint`` of an engine."""
    import importlib

    return importlib.import_module(f"{t.__name__}.utils.checkpoint")


def leaf(t: Any, *values: float) -> Any:
    """A vector that requires grad."""
    return t.tensor(values or (0.5, -1.0, 2.0), dtype=t.float64, requires_grad=True)


class Counted:
    """A function of one tensor that counts its runs."""

    def __init__(self, function: Callable[[Any], Any] | None = None) -> None:
        self.runs = 0
        self.function = function or (lambda a: a.sin().exp().cos())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def saved_everywhere(t: Any) -> tuple[list[Any], Any]:
    """A list that gets every saved tensor, and hooks that fill it."""
    saved: list[Any] = []

    def pack(value: Any) -> Any:
        saved.append(tuple(value.shape))
        return value

    return saved, t.autograd.graph.saved_tensors_hooks(pack, lambda value: value)


def test_gradients_and_graph() -> None:
    """Gradients, node names and the number of runs; the graph is that of the function itself."""

    def program(t: Any) -> Any:
        x, w, f = leaf(t), leaf(t, 2.0, 3.0, 4.0), Counted()
        f.function = lambda a: (a.sin() * w).exp()
        y = module(t).checkpoint(f, x, use_reentrant=False)
        names = [y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()]
        y.sum().backward()
        return [names, f.runs, x.grad, w.grad]

    assert assert_agree(program).value[:2] == [["ExpBackward0", "MulBackward0"], 2]


def test_nothing_is_saved_but_the_inputs() -> None:
    """Hooks around the call see the inputs only, whatever the function saves."""

    def program(t: Any) -> Any:
        x, f = leaf(t), Counted()
        saved, hooks = saved_everywhere(t)
        with hooks:
            y = module(t).checkpoint(f, x, use_reentrant=False)
        y.sum().backward()
        return [saved, x.grad]

    assert assert_agree(program).value[0] == [[3]]


ARGUMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "keywords": lambda t, c: c(lambda a, b, k=1: (a * b * k).exp(), leaf(t), b=leaf(t, 1.0, 2.0, 3.0), k=2),
    "dictionary": lambda t, c: c(lambda d: d["x"][0].sin().exp(), {"x": [leaf(t)]}),
    "number": lambda t, c: c(lambda a, k: (a * k).exp(), leaf(t), 3),
    "nothing": lambda t, c: c(lambda: leaf(t).sin().exp()),
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_arguments_of_any_kind(kind: str) -> None:
    """Keywords, containers and numbers reach the function both times."""

    def program(t: Any) -> Any:
        calls: list[Any] = []

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append((args, kwargs))
            return module(t).checkpoint(function, *args, use_reentrant=False, **kwargs)

        y = ARGUMENTS[kind](t, call)
        y.sum().backward()
        args, kwargs = calls[0]
        return [y.detach(), [a.grad for a in (*args, *kwargs.values()) if hasattr(a, "grad")]]

    assert_agree(program)


def test_results_of_any_kind() -> None:
    """Results are handed through as they are."""

    def program(t: Any) -> Any:
        x = leaf(t)
        out = module(t).checkpoint(lambda a: {"k": [a.sin().exp()], "n": 3}, x, use_reentrant=False)
        number = module(t).checkpoint(lambda a: 5, x, use_reentrant=False)
        out["k"][0].sum().backward()
        return [out["n"], number, x.grad]

    assert_agree(program)


def test_without_recording() -> None:
    """Under no_grad the function just runs."""

    def program(t: Any) -> Any:
        f = Counted()
        with t.no_grad():
            y = module(t).checkpoint(f, leaf(t), use_reentrant=False)
        return [y, f.runs]

    assert_agree(program)


def test_several_backwards() -> None:
    """Each backward run computes afresh; retain_graph is needed as ever; both outputs can be used apart."""

    def retained(t: Any) -> Any:
        x, f = leaf(t), Counted()
        y = module(t).checkpoint(f, x, use_reentrant=False)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        return [x.grad, f.runs]

    def apart(t: Any) -> Any:
        x, f = leaf(t), Counted(lambda a: (a.sin().exp(), a.cos().exp()))
        y, z = module(t).checkpoint(f, x, use_reentrant=False)
        y.sum().backward()
        z.sum().backward()
        return [x.grad, f.runs]

    def second(t: Any) -> Any:
        y = module(t).checkpoint(Counted(), leaf(t), use_reentrant=False)
        y.sum().backward()
        y.sum().backward()

    assert assert_agree(retained).value[1] == 3
    assert_agree(apart)
    assert assert_agree(second, phrase="backward through the graph a second time").error == "RuntimeError"


def test_double_backward_and_grad() -> None:
    """``grad``, ``inputs=`` and second derivatives work."""

    def program(t: Any) -> Any:
        x, f = leaf(t), Counted()
        y = module(t).checkpoint(f, x, use_reentrant=False)
        (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
        (gg,) = t.autograd.grad(g.sum(), x)
        module(t).checkpoint(f, x, use_reentrant=False).sum().backward(inputs=[x])
        return [g.detach(), gg, x.grad, f.runs]

    assert_agree(program)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("stop", [None, True, False])
def test_nested(depth: int, stop: bool | None) -> None:
    """Checkpoints in checkpoints run as often as PyTorch's, with and without early stop."""

    def program(t: Any) -> Any:
        x, runs = leaf(t), [0]

        def level(left: int) -> Any:
            def function(a: Any) -> Any:
                runs[0] += 1
                inner = module(t).checkpoint(level(left - 1), a, use_reentrant=False) if left else a
                return inner.sin().exp()

            return function

        switch = contextlib.nullcontext() if stop is None else module(t).set_checkpoint_early_stop(stop)
        with switch:
            module(t).checkpoint(level(depth), x, use_reentrant=False).sum().backward()
        return [x.grad, runs]

    assert_agree(program)


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_both_forms_in_each_other(outer: bool, inner: bool) -> None:
    """Reentrant and recomputing checkpoints nest in any order."""

    def program(t: Any) -> Any:
        x, f = leaf(t), Counted()
        checkpoint = module(t).checkpoint
        block = lambda a: checkpoint(f, a, use_reentrant=inner).sin()  # noqa: E731
        checkpoint(block, x, use_reentrant=outer).sum().backward()
        return [x.grad, f.runs]

    assert_agree(program)


@pytest.mark.parametrize("switch", [None, True, False])
@pytest.mark.parametrize("option", [None, True, False])
def test_early_stop(switch: bool | None, option: bool | None) -> None:
    """The second run ends with the last tensor that is needed; the switch around the forward overrules the option."""

    def program(t: Any) -> Any:
        reached = [0]

        def function(a: Any) -> Any:
            b = a.sin()
            reached[0] += 1
            return b + 1

        options = {} if option is None else {"early_stop": option}
        context = contextlib.nullcontext() if switch is None else module(t).set_checkpoint_early_stop(switch)
        x = leaf(t)
        with context:
            y = module(t).checkpoint(function, x, use_reentrant=False, **options)
        y.sum().backward()
        return [reached, x.grad]

    assert_agree(program)


def changing(t: Any, first: Callable[[Any], Any], later: Callable[[Any], Any]) -> Any:
    """A function that does something else after its first run."""
    runs = [0]

    def function(a: Any) -> Any:
        runs[0] += 1
        return (first if runs[0] == 1 else later)(a)

    return function


MISMATCHES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], dict[str, Any], str]] = {
    "fewer": (
        lambda t, a: a.sin().cos(),
        lambda t, a: a.sin(),
        {},
        "Number of tensors saved during forward: 2\nNumber of tensors saved during recomputation: 1.",
    ),
    "fewer, unchecked": (
        lambda t, a: a.sin().cos(),
        lambda t, a: a.sin(),
        {"determinism_check": "none"},
        "A different number of tensors was saved",
    ),
    "more": (lambda t, a: a.sin(), lambda t, a: a.sin().cos(), {}, ""),
    "more, to the end": (
        lambda t, a: a.sin(),
        lambda t, a: a.sin().cos(),
        {"early_stop": False},
        "trying to save more tensors during recomputation than during the original forward pass",
    ),
    "shape": (
        lambda t, a: a.sin().sum(),
        lambda t, a: t.cat([a, a]).sin().sum(),
        {},
        "tensor at position 0:\nsaved metadata: {'shape': torch.Size([3])",
    ),
    "dtype": (
        lambda t, a: a.sin(),
        lambda t, a: a.float().sin(),
        {},
        "Recomputed values for the following tensors have different metadata",
    ),
    "dtype, unchecked": (lambda t, a: a.sin(), lambda t, a: a.float().sin(), {"determinism_check": "none"}, ""),
}


@pytest.mark.parametrize("kind", MISMATCHES)
def test_mismatches(kind: str) -> None:
    """A function that does something else the second time is found out, as far as it is checked."""
    first, later, options, phrase = MISMATCHES[kind]

    def program(t: Any) -> Any:
        function = changing(t, lambda a: first(t, a), lambda a: later(t, a))
        module(t).checkpoint(function, leaf(t), use_reentrant=False, **options).sum().backward()

    found = assert_agree(program, phrase=phrase)
    assert found.error == ("CheckpointError" if phrase else "")


def test_the_program_of_a_checkpoint_with_a_counter() -> None:
    """A block that concatenates every other time: the error says which tensor differs and in what."""

    def program(t: Any) -> Any:
        t.manual_seed(0)
        x, w, calls = t.randn(6, 4), t.randn(4, 4, requires_grad=True), {"n": 0}

        def block(h: Any) -> Any:
            calls["n"] += 1
            z = t.tanh(h @ w)
            if calls["n"] % 2 == 1:
                z = t.cat([z, z], 0)
            return t.sigmoid(z * 2.0).sum()

        h = t.relu(x @ w)
        (module(t).checkpoint(block, h, use_reentrant=False) + h.sum()).backward()

    found = assert_agree(program, phrase="have different metadata than during the forward pass")
    assert found.error == "CheckpointError"
    assert issubclass(module(retrograd).CheckpointError, RuntimeError)


@pytest.mark.parametrize("globally", [True, False])
def test_debug_shows_both_runs(globally: bool) -> None:
    """With debugging the error lists the operators of both runs and where they were called."""

    def program(t: Any) -> Any:
        function = changing(t, lambda a: a.sin().sum(), lambda a: t.cat([a, a]).exp().sum())
        switch = module(t).set_checkpoint_debug_enabled(True) if globally else contextlib.nullcontext()
        with switch:
            y = module(t).checkpoint(function, leaf(t), use_reentrant=False, debug=not globally)
        y.backward()

    found = outcome(program, retrograd)
    assert found.error == "CheckpointError"
    assert "1 of 2 in original" in found.message
    assert "cat -> float64[6]" in found.message
    assert "test_checkpoint_recompute.py:" in found.message
    assert "An error happened while unpacking tensors; dumping logs of latest computation" in found.message


def test_random_numbers() -> None:
    """The second run draws the same numbers, and the caller's sequence goes on undisturbed; unless told otherwise."""

    def program(t: Any, **options: Any) -> Any:
        t.manual_seed(0)
        x = leaf(t)
        y = module(t).checkpoint(
            lambda a: (2 * a).sin() * t.rand(3, dtype=t.float64), x, use_reentrant=False, **options
        )
        before = t.get_rng_state()
        y.sum().backward()
        factor = (y / (2 * x).sin()).detach()
        untouched = [str(before) == str(t.get_rng_state())]
        return [bool(t.allclose(x.grad, 2 * (2 * x).cos().detach() * factor)), *untouched]

    assert outcome(program, retrograd).value == [True, True]
    assert outcome(lambda t: program(t, preserve_rng_state=False), retrograd).value[0] is False


def test_context_fn() -> None:
    """Both runs have their own surroundings."""

    def program(t: Any) -> Any:
        log: list[str] = []

        @contextlib.contextmanager
        def note(name: str) -> Any:
            log.append(f"{name} begins")
            try:
                yield
            finally:
                log.append(f"{name} ends")

        surroundings = lambda: (note("forward"), note("recomputation"))  # noqa: E731
        x = leaf(t)
        y = module(t).checkpoint(Counted(), x, use_reentrant=False, context_fn=surroundings)
        log.append("backward")
        y.sum().backward()
        return log

    assert_agree(program)


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown check": ({"determinism_check": "some"}, "ValueError", "determinism_check should be one of"),
    "unknown keyword": ({"blah": 3}, "TypeError", "unexpected keyword argument 'blah'"),
    "debug and contexts": ({"debug": True, "context_fn": lambda: None}, "ValueError", "incompatible with non-default"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_options(kind: str) -> None:
    """Options that do not exist or do not go together."""
    options, error, phrase = REFUSED[kind]

    def program(t: Any) -> Any:
        module(t).checkpoint(lambda a: a.sin(), leaf(t), use_reentrant=False, **options)

    assert assert_agree(program, phrase=phrase).error == error


def test_exceptions_of_the_second_run() -> None:
    """An exception in the second run arrives from backward unchanged."""

    def program(t: Any) -> Any:
        def fail(a: Any) -> Any:
            raise KeyError("mine")

        function = changing(t, lambda a: a.sin().exp(), fail)
        module(t).checkpoint(function, leaf(t), use_reentrant=False).sum().backward()

    assert assert_agree(program, phrase="mine").error == "KeyError"


def test_inputs_are_watched() -> None:
    """An input that was written to after the call is refused, since the second run would see other values."""

    def program(t: Any) -> Any:
        a = leaf(t) * 2
        y = module(t).checkpoint(Counted(), a, use_reentrant=False)
        with t.no_grad():
            a.mul_(3)
        y.sum().backward()

    assert assert_agree(program, phrase="modified by an inplace operation").error == "RuntimeError"


def test_in_place_inside() -> None:
    """In-place operators inside the function are fine."""

    def program(t: Any) -> Any:
        def function(a: Any) -> Any:
            b = a.clone()
            b.mul_(2).sin_()
            return b.exp()

        x = leaf(t)
        module(t).checkpoint(function, x, use_reentrant=False).sum().backward()
        return x.grad

    assert_agree(program)


def test_backward_inside() -> None:
    """A gradient computed inside the checkpointed function, first and second time."""

    def program(t: Any) -> Any:
        runs = [0]

        def function(a: Any) -> Any:
            runs[0] += 1
            b = a.sin()
            (g,) = t.autograd.grad(b.exp().sum(), a, create_graph=True)
            return (b * g).exp()

        x = leaf(t)
        module(t).checkpoint(function, x * 1, use_reentrant=False).sum().backward()
        return [x.grad, runs]

    assert_agree(program)


def test_reading_saved_values() -> None:
    """``_saved_*`` outside of backward computes again each time; after the release it is an error."""

    def read(t: Any) -> Any:
        x, f = leaf(t), Counted()
        y = module(t).checkpoint(f, x, use_reentrant=False)
        value = y.grad_fn._saved_self
        name = value.grad_fn.name()
        again = y.grad_fn._saved_self
        return [value.detach(), name, value is again, f.runs]

    def late(t: Any) -> Any:
        y = module(t).checkpoint(Counted(), leaf(t), use_reentrant=False)
        y.sum().backward()
        return y.grad_fn._saved_self

    assert_agree(read)
    assert assert_agree(late, phrase="backward through the graph a second time").error == "RuntimeError"


def test_saved_tensors_are_read_once_in_a_custom_function() -> None:
    """A backward that asks twice for the same value is told to ask once."""

    def program(t: Any) -> Any:
        class Twice(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                ctx.save_for_backward(a)
                return a.clone()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (a,) = ctx.saved_tensors
                (b,) = ctx.saved_tensors
                return g * a * b

        module(t).checkpoint(lambda a: Twice.apply(a.sin()), leaf(t), use_reentrant=False).sum().backward()

    found = assert_agree(program, phrase="Unpack is being triggered for a tensor that was already unpacked once")
    assert found.error == "CheckpointError"


def test_groups() -> None:
    """Backward calls in one group share a recomputation if they do not overlap; groups do not nest."""

    def apart(t: Any) -> Any:
        x, f = leaf(t), Counted(lambda a: (a.sin().exp(), a.cos().exp()))
        y, z = module(t).checkpoint(f, x, use_reentrant=False)
        with module(t).GraphExecGroup():
            y.sum().backward()
            z.sum().backward()
        return [x.grad, f.runs]

    def overlapping(t: Any) -> Any:
        x = leaf(t)
        y = module(t).checkpoint(Counted(), x, use_reentrant=False)
        with module(t).GraphExecGroup():
            t.autograd.grad(y.sum(), x, retain_graph=True)
            t.autograd.grad(y.sum(), x)

    def nested(t: Any) -> Any:
        group = module(t).GraphExecGroup
        try:
            with group(), group():
                pass
        finally:
            with group():
                pass

    assert assert_agree(apart).value[1] == 2
    phrase = "is not allowed while under the torch.utils.checkpoint.GraphExecGroup context"
    assert assert_agree(overlapping, phrase=phrase).error == "CheckpointError"
    assert assert_agree(nested, phrase="GraphExecGroup contexts cannot be nested").error == "RuntimeError"


def test_forward_mode() -> None:
    """Tangents flow through a checkpointed call."""

    def program(t: Any) -> Any:
        forward_ad = t.autograd.forward_ad
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(leaf(t).detach(), t.ones(3, dtype=t.float64))
            y = module(t).checkpoint(Counted(), dual, use_reentrant=False)
            return list(forward_ad.unpack_dual(y))

    assert_agree(program)


def test_intermediate_results_are_not_kept() -> None:
    """Between forward and backward none of the arrays made inside is alive; without checkpointing they are."""

    def alive(checkpointed: bool) -> int:
        made: list[weakref.ref[Any]] = []

        def function(a: Any) -> Any:
            for _ in range(10):
                a = a.sin()
                made.append(weakref.ref(a.detach()._array))
            return a.sum()

        x = retrograd.ones(100, requires_grad=True)
        if checkpointed:
            out = module(retrograd).checkpoint(function, x, use_reentrant=False)
        else:
            out = function(x)
        assert out.requires_grad
        return sum(ref() is not None for ref in made)

    gc.disable()
    try:
        assert alive(checkpointed=True) == 0
        assert alive(checkpointed=False) >= 9
    finally:
        gc.enable()


def test_lifetimes() -> None:
    """After backward nothing keeps the function alive, and dropping the result frees everything without gc."""

    class Token:
        pass

    def run(backward: bool) -> list[bool]:
        token = Token()
        seen = weakref.ref(token)

        def function(a: Any, token: Token = token) -> Any:
            return a.sin().exp()

        del token
        y = module(retrograd).checkpoint(function, leaf(retrograd), use_reentrant=False)
        del function
        alive = [seen() is not None]
        if backward:
            y.sum().backward()
            alive.append(seen() is not None)
        del y
        return [*alive, seen() is not None]

    gc.disable()
    try:
        assert run(backward=True) == [True, False, False]
        assert run(backward=False) == [True, False]
    finally:
        gc.enable()


def test_threads() -> None:
    """Backward in another thread computes again there."""

    def program(t: Any) -> Any:
        import threading

        x, f = leaf(t), Counted()
        y = module(t).checkpoint(f, x, use_reentrant=False)
        thread = threading.Thread(target=lambda: y.sum().backward())
        thread.start()
        thread.join()
        return [x.grad, f.runs]

    assert_agree(program)


def test_states_of_devices() -> None:
    """Where everything is on the CPU, there are no other devices whose random states are kept."""
    for engine in ("torch", "retrograd"):
        pytest.importorskip(engine)
        checkpointing = importlib.import_module(f"{engine}.utils.checkpoint")
        assert checkpointing.get_device_states(1) == ([], [])
        assert checkpointing.set_device_states([], []) is None
