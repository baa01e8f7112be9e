"""Checkpointing by a nested backward, ``use_reentrant=True``, and in sequence."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_agree, outcome

import retrograd


def module(t: Any) -> Any:
    """``utils.checkpoint`` of an engine."""
    return importlib.import_module(f"{t.__name__}.utils.checkpoint")


def leaf(t: Any, *values: float) -> Any:
    """A vector that requires grad."""
    return t.tensor(values or (0.5, -1.0, 2.0), dtype=t.float64, requires_grad=True)


def wave(a: Any) -> Any:
    """Something that saves several tensors."""
    return a.sin().exp().cos()


def test_gradients_and_graph() -> None:
    """One node for the whole call; gradients of arguments and of what the function closes over."""

    def program(t: Any) -> Any:
        x, w = leaf(t), leaf(t, 1.0, 2.0, 3.0)
        y = module(t).checkpoint(lambda a, k: wave(a * w) * k, x, 3, use_reentrant=True)
        facts = [y.grad_fn.name(), [n.name() for n, _ in y.grad_fn.next_functions if n is not None]]
        y.sum().backward()
        return [facts, x.grad, w.grad]

    assert_agree(program)


def test_the_default_is_reentrant_with_a_warning() -> None:
    """Without ``use_reentrant`` a UserWarning asks for it."""

    def program(t: Any) -> Any:
        return module(t).checkpoint(wave, leaf(t)).grad_fn.name()

    found = assert_agree(program)
    assert (found.value, found.warned) == ("CheckpointFunctionBackward", ("UserWarning",))


def test_no_input_requires_grad() -> None:
    """Then there will be no gradients, and a warning says so."""
    found = assert_agree(lambda t: module(t).checkpoint(wave, leaf(t).detach(), use_reentrant=True))
    assert found.warned == ("UserWarning",)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "keyword": ({"a": 3}, "Unexpected keyword arguments: a"),
    "context": ({"context_fn": lambda: None}, "is only supported when use_reentrant=False"),
    "debug": ({"debug": True}, "is only supported when use_reentrant=False"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_options(kind: str) -> None:
    """Keyword arguments for the function, contexts and debugging need the other form."""
    options, phrase = REFUSED[kind]
    found = assert_agree(lambda t: module(t).checkpoint(wave, leaf(t), use_reentrant=True, **options), phrase=phrase)
    assert found.error == "ValueError"


@pytest.mark.parametrize("how", ["grad", "inputs", "create_graph"])
def test_restricted_backward_is_refused(how: str) -> None:
    """``grad`` and ``inputs=`` cannot work with a nested backward, which accumulates into leaves."""

    def program(t: Any) -> Any:
        x = leaf(t)
        y = module(t).checkpoint(wave, x, use_reentrant=True).sum()
        if how == "inputs":
            y.backward(inputs=[x])
        else:
            t.autograd.grad(y, x, create_graph=how == "create_graph")

    found = assert_agree(program, phrase="torch.utils.checkpoint is incompatible with .grad() or passing an `inputs`")
    assert found.error == "RuntimeError"


def test_outputs() -> None:
    """Several outputs, of which some are not used and some are no tensors."""

    def program(t: Any) -> Any:
        x = leaf(t)
        out = module(t).checkpoint(lambda a: (a * 2, 3, None, a.detach(), a * 5), x, use_reentrant=True)
        out[4].sum().backward()
        return [out[1:3], [isinstance(v, t.Tensor) and v.requires_grad for v in out], x.grad]

    assert_agree(program)


def test_nothing_to_differentiate() -> None:
    """If no output of the second run requires grad the call was pointless, and an error."""
    found = assert_agree(
        lambda t: module(t).checkpoint(lambda a: a.detach(), leaf(t), use_reentrant=True).sum().backward(),
        phrase="none of output has requires_grad=True, this checkpoint() is not necessary",
    )
    assert found.error == "RuntimeError"


def test_several_backwards() -> None:
    """With retain_graph the function runs again each time; without it the second backward fails."""

    def retained(t: Any) -> Any:
        x = leaf(t)
        y = module(t).checkpoint(wave, x, use_reentrant=True)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        return x.grad

    def second(t: Any) -> Any:
        y = module(t).checkpoint(wave, leaf(t), use_reentrant=True)
        y.sum().backward()
        y.sum().backward()

    assert_agree(retained)
    assert assert_agree(second, phrase="backward through the graph a second time").error == "RuntimeError"


def test_deep_nesting() -> None:
    """Reentrant checkpoints inside each other."""

    def program(t: Any) -> Any:
        x, runs = leaf(t), [0]

        def level(left: int) -> Callable[[Any], Any]:
            def function(a: Any) -> Any:
                runs[0] += 1
                return (module(t).checkpoint(level(left - 1), a, use_reentrant=True) if left else a).sin()

            return function

        module(t).checkpoint(level(3), x, use_reentrant=True).sum().backward()
        return [x.grad, runs]

    assert_agree(program)


def test_a_long_chain() -> None:
    """Each of 60 checkpoints starts its nested backward inside the one above; nothing overflows."""

    def program(t: Any) -> Any:
        x = leaf(t)
        y = x
        for _ in range(60):
            y = module(t).checkpoint(lambda a: a.sin() * 1.1, y, use_reentrant=True)
        y.sum().backward()
        return x.grad

    assert_agree(program)


@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers(preserve: bool) -> None:
    """The second run draws the same numbers if they are preserved."""

    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = leaf(t)
        y = module(t).checkpoint(
            lambda a: a * t.rand(3, dtype=t.float64), x, use_reentrant=True, preserve_rng_state=preserve
        )
        y.sum().backward()
        return bool(t.allclose(x.grad, (y / x).detach()))

    assert assert_agree(program).value is preserve


def test_detaching() -> None:
    """``detach_variable`` keeps values and requires_grad, and only takes tuples."""

    def program(t: Any) -> Any:
        x = leaf(t)
        found = module(t).detach_variable((x, 3, x.detach()))
        return [found[0] is x, found[0].is_leaf, list(found)]

    assert_agree(program)
    found = assert_agree(lambda t: module(t).detach_variable(leaf(t)), phrase="Only tuple of tensors is supported")
    assert found.error == "RuntimeError"


class Steps:
    """Looks like ``nn.Sequential``: callable, with children."""

    def __init__(self, steps: list[Callable[[Any], Any]]) -> None:
        self.steps = steps

    def children(self) -> Any:
        """The steps."""
        return iter(self.steps)


STEPS: list[Callable[[Any], Any]] = [lambda a: a.sin(), lambda a: a * 2, lambda a: a.exp(), lambda a: a.cos(), wave]


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
@pytest.mark.parametrize("reentrant", [True, False])
def test_in_sequence(segments: int, reentrant: bool) -> None:
    """Functions in segments: value, gradient and the number of runs of each function."""

    def program(t: Any) -> Any:
        runs = [0] * len(STEPS)

        def counted(i: int) -> Callable[[Any], Any]:
            def step(a: Any) -> Any:
                runs[i] += 1
                return STEPS[i](a)

            return step

        x = leaf(t)
        steps = [counted(i) for i in range(len(STEPS))]
        y = module(t).checkpoint_sequential(steps, segments, x, use_reentrant=reentrant)
        y.sum().backward()
        return [y.detach(), x.grad, runs]

    assert_agree(program)


def test_sequence_of_a_module() -> None:
    """Anything with ``children()`` is taken apart."""
    x = leaf(retrograd)
    y = module(retrograd).checkpoint_sequential(Steps(STEPS), 2, x, use_reentrant=False)
    expected = x
    for step in STEPS:
        expected = step(expected)
    assert y.tolist() == expected.tolist()


def test_sequence_misuse() -> None:
    """Unknown keywords are refused; a missing ``use_reentrant`` warns; too many segments are a ValueError."""

    def call(t: Any, *args: Any, **options: Any) -> Any:
        return module(t).checkpoint_sequential(STEPS, *args, **options)

    found = assert_agree(
        lambda t: call(t, 2, leaf(t), use_reentrant=False, foo=3), phrase="Unexpected keyword arguments: foo"
    )
    assert found.error == "ValueError"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "UserWarning" in outcome(lambda t: call(t, 2, leaf(t)), retrograd).warned
    assert assert_agree(lambda t: call(t, 9, leaf(t), use_reentrant=False)).error == "ValueError"
