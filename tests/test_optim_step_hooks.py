"""Hooks around steps of optimizers, and what optimizers refuse, beside PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from both_engines import assert_agree


def parameter(engine: Any) -> Any:
    """One parameter with a gradient."""
    p = engine.nn.Parameter(engine.tensor([1.0, -2.0]))
    p.grad = engine.tensor([1.0, 3.0])
    return p


def test_hooks_of_one_optimizer_and_of_all() -> None:
    """F-: those of all come first before a step and last after it; they see the steps that programs write, too."""

    def program(engine: Any) -> Any:
        every = importlib.import_module(f"{engine.__name__}.optim.optimizer")
        calls: list[Any] = []

        class Own(engine.optim.Optimizer):  # type: ignore[misc]
            def step(self, closure: Any = None) -> str:
                calls.append("step")
                return "done"

        with (
            every.register_optimizer_step_pre_hook(
                lambda o, args, kwargs: calls.append(("all", len(args), list(kwargs)))
            ),
            every.register_optimizer_step_post_hook(lambda *_: calls.append("all after")),
        ):
            for made in (engine.optim.SGD([parameter(engine)], 0.1), Own([parameter(engine)], {})):
                made.register_step_pre_hook(lambda *_: calls.append("own"))
                made.register_step_post_hook(lambda *_: calls.append("own after"))
                calls.append(made.step(closure=lambda: 3))
        loss = engine.optim.LBFGS([parameter(engine)])
        loss.register_step_pre_hook(lambda *_: calls.append("before LBFGS"))
        loss.step(lambda: engine.tensor(0.0))
        return calls

    assert_agree(program)


@pytest.mark.parametrize("answer", [3, ("one",)], ids=repr)
def test_hooks_that_answer_nonsense(answer: Any) -> None:
    """F-: a hook before a step answers with arguments or with nothing."""

    def program(engine: Any) -> Any:
        optimizer = engine.optim.SGD([parameter(engine)], 0.1)
        optimizer.register_step_pre_hook(lambda *_: answer)
        try:
            optimizer.step()
        except RuntimeError as error:
            return str(error).rpartition(" must return ")[2]
        return None

    assert_agree(program)


def test_hooks_replace_arguments() -> None:
    """F-: the step gets what a hook answers with."""

    def program(engine: Any) -> Any:
        optimizer = engine.optim.SGD([parameter(engine)], 0.1)
        optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
        return optimizer.step()

    assert_agree(program)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "ASGD"])
def test_differentiable_steps(name: str) -> None:
    """F-: with ``differentiable`` results of operations are updated, and gradients flow through the step."""

    def program(engine: Any) -> Any:
        p = engine.tensor([1.0, 2.0], dtype=engine.float64, requires_grad=True)
        q = p.clone()
        q.grad = p**2
        getattr(engine.optim, name)([q], lr=0.1, differentiable=True).step()
        return [q, engine.autograd.grad(q.sum(), p)]

    assert_agree(program)


def required(optim: Any) -> Any:
    """The default of settings that an optimizer must be given."""
    return importlib.import_module(f"{optim.__name__}.optimizer").required


REFUSED = {
    "not a leaf": lambda o, p, q: o.SGD([p * 2], 0.1),
    "some names": lambda o, p, q: o.SGD([("p", p), q], 0.1),
    "a group without": lambda o, p, q: o.SGD([("p", p)], 0.1).add_param_group({"params": [q]}),
    "a group with": lambda o, p, q: o.SGD([p], 0.1).add_param_group({"params": [("q", q)]}),
    "same names": lambda o, p, q: o.SGD([("p", p), ("p", q)], 0.1).param_groups[0]["param_names"],
    "no rate": lambda o, p, q: o.Optimizer([{"params": [p], "lr": 1}, {"params": [q]}], {"lr": required(o)}),
    "fused, foreach": lambda o, p, q: o.Adam([p], fused=True, foreach=True),
    "fused, differentiable": lambda o, p, q: o.SGD([p], 0.1, fused=True, differentiable=True),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    """F-: groups and settings that PyTorch refuses, in its words."""
    assert_agree(lambda engine: REFUSED[case](engine.optim, parameter(engine), parameter(engine)))


def test_groups_are_the_dictionaries_of_the_program() -> None:
    """F-: defaults are filled in there, and a program may change a setting by its own name of the group."""

    def program(engine: Any) -> Any:
        p, q = parameter(engine), parameter(engine)
        given, added = {"params": p, "lr": 0.5}, {"params": [q]}
        optimizer = engine.optim.SGD([given], lr=0.1)
        optimizer.add_param_group(added)
        filled = [list(given), list(added)]
        given["lr"], added["lr"] = 0.0, 1.0
        optimizer.step()
        return [filled, given is optimizer.param_groups[0], p, q]

    assert_agree(program)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RAdam", "Adagrad"])
def test_rates_of_several_numbers(name: str) -> None:
    """F-: a tensor as rate has one element."""
    assert_agree(lambda engine: getattr(engine.optim, name)([parameter(engine)], lr=engine.tensor([0.1, 0.2])))


def test_complex_adafactor() -> None:
    """F-: Adafactor takes real parameters only."""

    def program(engine: Any) -> Any:
        p = engine.nn.Parameter(engine.ones(2, dtype=engine.complex64))
        p.grad = engine.ones(2, dtype=engine.complex64)
        engine.optim.Adafactor([p]).step()

    assert_agree(program)


def test_a_schedule_of_an_optimizer_with_its_own_step(recwarn: pytest.WarningsRecorder) -> None:
    """F-: a schedule knows of the steps that programs write, and warns where there was none."""

    def program(engine: Any, steps: int) -> int:
        class Own(engine.optim.Optimizer):  # type: ignore[misc]
            def step(self, closure: Any = None) -> None:
                return None

        recwarn.clear()
        optimizer = Own([parameter(engine)], {"lr": 0.1})
        schedule = engine.optim.lr_scheduler.StepLR(optimizer, 1)
        for _ in range(steps):
            optimizer.step()
        schedule.step()
        return len(recwarn)

    assert_agree(lambda engine: [program(engine, 1), program(engine, 0)])
