"""Hooks of modules: around forward with keywords, around backward, on both engines."""

from __future__ import annotations

import warnings
from typing import Any

from both_engines import differential, raises


def two_ways(torch: Any) -> Any:
    """A module with one or two tensor inputs, and one or two outputs."""

    class Two(torch.nn.Module):
        def forward(self, x: Any, y: Any = None) -> Any:
            return (x * 2, x * 3) if y is None else x * y

    return Two()


@differential
def test_full_backward_hook(torch: Any) -> Any:
    """It gets the gradients of all inputs and outputs, ``None`` where there is no tensor."""
    module, seen = two_ways(torch), []
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    module(x)[0].sum().backward()
    module(x, w).sum().backward()
    module(w, 3).sum().backward()
    plain = module(torch.ones(2))[0].requires_grad
    with torch.no_grad():
        without = module(x)[0].grad_fn
    view = module(x)[0]
    return [seen, plain, without, view.grad_fn, view._is_view(), raises("modified inplace", view.add_, 1), w.grad]


@differential
def test_backward_hooks_replace(torch: Any) -> Any:
    """What they return takes the place of the gradients; a wrong number is refused."""
    first, second = two_ways(torch), two_ways(torch)
    first.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    second.register_full_backward_pre_hook(lambda m, go: (go[0] * 2, go[1]))
    x = torch.ones(2, requires_grad=True)
    second(first(x)[0])[0].sum().backward()
    first.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    second.register_full_backward_pre_hook(lambda m, go: (go[0],), prepend=True)
    return [
        x.grad,
        raises("invalid number of grad_input", first(x)[0].sum().backward),
        raises("invalid number of grad_output", second(x)[0].sum().backward),
    ]


@differential
def test_full_backward_hook_without_inputs_that_take_gradients(torch: Any) -> Any:
    """It runs as soon as the outputs' gradients are known, and may not return any."""
    layer, seen = torch.nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    strict = torch.nn.Linear(2, 2)
    strict.register_full_backward_hook(lambda m, gi, go: (torch.ones(1, 2),))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer(torch.ones(1, 2)).sum().backward()
        refused = raises("should always return None", strict(torch.ones(1, 2)).sum().backward)
    return [seen, refused, {str(w.message)[:60] for w in caught}]


@differential
def test_old_backward_hook(torch: Any) -> Any:
    """It sees the last operation only, warns, and excludes the full ones."""
    layer, seen = torch.nn.Linear(1, 1), []
    layer.register_backward_hook(lambda m, gi, go: seen.append(len(gi)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
    return [seen, [w.category for w in caught], raises("Cannot use both", layer.register_full_backward_hook, print)]


@differential
def test_forward_hooks_with_keywords(torch: Any) -> Any:
    """Hooks with keywords see and change them; prepended ones come first; some run also when forward raises."""
    module, seen = two_ways(torch), []
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append(sorted(kwargs)), with_kwargs=True)
    module.register_forward_pre_hook(lambda m, args: seen.append("second"))
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"y": 5}), with_kwargs=True, prepend=True)
    changed = module(torch.ones(2), y=2)
    module.register_forward_hook(lambda m, args, out: seen.append(("always", out)), always_call=True)
    failed = raises("", module, "a", "b", "c")
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    return [changed, seen, failed, raises("tuple of", module, torch.ones(2))]
