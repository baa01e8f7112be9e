"""Hooks around an optimizer's ``state_dict`` and ``load_state_dict``; decorators for mixed precision."""

from __future__ import annotations

import importlib
from typing import Any

from both_engines import assert_agree


def test_hooks_around_states() -> None:
    """They are called in order, may replace the state, and end with their handle; copies of optimizers work on."""

    def program(engine: Any) -> Any:
        p = engine.nn.Parameter(engine.ones(2))
        optimizer = engine.optim.SGD([p], lr=0.5, momentum=0.9)
        calls: list[Any] = []
        optimizer.register_state_dict_pre_hook(lambda o: calls.append(("before save", type(o).__name__)))
        optimizer.register_state_dict_post_hook(lambda o, state: calls.append(("after save", sorted(state))))
        last = optimizer.register_state_dict_post_hook(lambda o, state: {**state, "note": 1}, prepend=True)

        def slower(o: Any, state: dict[str, Any]) -> dict[str, Any]:
            state["param_groups"] = [{**group, "lr": 0.25} for group in state["param_groups"]]
            return state

        optimizer.register_load_state_dict_pre_hook(slower)
        optimizer.register_load_state_dict_post_hook(lambda o: calls.append(o.param_groups[0]["lr"]))
        p.sum().backward()
        optimizer.step()
        saved = optimizer.state_dict()
        optimizer.load_state_dict(saved)
        last.remove()
        return [calls, sorted(saved), saved["param_groups"][0]["lr"], sorted(optimizer.state_dict())]

    assert_agree(program)


def test_decorators_for_mixed_precision() -> None:
    """A Function that is written for autocast works without it."""

    def program(engine: Any) -> Any:
        amp = importlib.import_module(f"{engine.__name__}.amp")

        class Double(engine.autograd.Function):  # type: ignore[misc]
            @staticmethod
            @amp.custom_fwd(device_type="cpu", cast_inputs=engine.float32)
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            @amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        x = engine.ones(2, requires_grad=True)
        Double.apply(x).sum().backward()
        return [x.grad, repr(importlib.import_module(f"{engine.__name__}.optim.optimizer").required)]

    assert_agree(program)
