"""SPEC rows V-17 to V-21: hooks on tensors, how they follow in-place writes, post-accumulate hooks."""

from __future__ import annotations

from collections import OrderedDict

from both_engines import differential, raises


@differential
def test_V_17_register_hook(torch):
    """V-17: called once per task with the total gradient; a returned tensor replaces it downstream."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 2
    seen = []
    b.register_hook(lambda g: seen.append(g.clone()))
    b.register_hook(lambda g: g * 10)
    b.register_hook(lambda g: seen.append(g.clone()))
    (b + b * 3).sum().backward()
    return [seen, a.grad, raises("cannot register a hook on a tensor that doesn't require gradient",
                                 torch.ones(2).register_hook, print)]  # fmt: skip


@differential
def test_V_17_in_place_edit_of_the_argument(torch):
    """V-17: an in-place edit of the argument is seen downstream; an expanded gradient refuses it."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    b.register_hook(lambda g: (g.mul_(5), None)[1])
    (b * 3).backward(torch.ones(2))
    c = torch.ones(2, requires_grad=True)
    d = c * 2
    d.register_hook(lambda g: (g.mul_(5), None)[1])
    error = raises(
        "more than one element of the written-to tensor refers to a single memory location", d.sum().backward
    )
    return [a.grad, error]


@differential
def test_V_17_blocks_of_outputs(torch):
    """V-17: blocks of hooks of one node's outputs run in the order of each tensor's first hook, None included."""
    a = torch.ones(2, 2, requires_grad=True)
    x, y = a.unbind(0)
    calls = []
    y.register_hook(lambda g: calls.append(("y1", g)))
    x.register_hook(lambda g: calls.append(("x1", g)))
    y.register_hook(lambda g: calls.append(("y2", g)))
    x.sum().backward()
    return calls


@differential
def test_V_17_only_captured(torch):
    """V-17: the hook runs when the tensor is only captured by grad(), not when it is not reached."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    c = a * 3
    calls = []
    b.register_hook(lambda g: (calls.append("b"), g * 2)[1])
    c.register_hook(lambda g: calls.append("c"))
    a.register_hook(lambda g: calls.append("a"))
    found = [torch.autograd.grad((b * 5).sum(), b), list(calls)]
    calls.clear()
    torch.autograd.grad((b * 5).sum() + c.sum(), b)
    return [*found, calls]


@differential
def test_V_17_on_leaves_and_several_tasks(torch):
    """V-17: a leaf's hook sees the total before accumulation, once per task, and can be removed."""
    a = torch.ones(2, requires_grad=True)
    seen = []
    handle = a.register_hook(lambda g: (seen.append(g), g + 1)[1])
    (a * 2 + a * 3).sum().backward()
    (a * 4).sum().backward()
    handle.remove()
    handle.remove()
    (a * 4).sum().backward()
    return [seen, a.grad, len(a._backward_hooks)]


@differential
def test_V_18_validation(torch):
    """V-18: the replacement must be a tensor of the same dtype and shape, and cannot replace None."""

    def attempt(hook):
        a = torch.ones(2, requires_grad=True)
        b = a * 2
        b.register_hook(hook)
        return b.sum().backward

    x, y = torch.ones(2, 2, requires_grad=True).unbind(0)
    y.register_hook(lambda g: torch.ones(2))
    return [
        raises("expected Variable, but hook returned", attempt(lambda g: 3)),
        raises("has changed the type of value", attempt(lambda g: g.double())),
        raises("has changed the size of value", attempt(lambda g: torch.ones(3))),
        raises("can't replace a None gradient", x.sum().backward),
    ]


@differential
def test_V_19_direct_write(torch):
    """V-19: after an in-place write old hooks stay with the old value and new ones go to the new grad_fn."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    calls = []
    b.register_hook(lambda g: calls.append(("old", g)))
    b.mul_(3)
    empty = b._backward_hooks
    b.register_hook(lambda g: calls.append(("new", g)))
    (b * 5).sum().backward()
    return [empty, calls]


@differential
def test_V_19_write_through_a_view(torch):
    """V-19: a write to a view leaves the base's old hooks on the old grad_fn."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    calls = []
    b.register_hook(lambda g: calls.append(("old", g)))
    b[0].mul_(3)
    empty = b._backward_hooks
    b.register_hook(lambda g: calls.append(("new", g)))
    (b * 5).sum().backward()
    return [empty, calls, a.grad]


@differential
def test_V_19_hook_of_a_view_and_a_base_write(torch):
    """V-19: a stale view with a hook keeps adding to the old value until its grad_fn is asked for, as in PyTorch."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    v = b[0:1]
    calls = []
    v.register_hook(lambda g: calls.append(("old", g)))
    w = v * 7
    b.mul_(3)
    v.register_hook(lambda g: calls.append(("new", g)))
    ((v * 5).sum() + w.sum()).backward()
    return [calls, a.grad]


@differential
def test_V_19_hook_of_a_refreshed_view(torch):
    """V-19: once a stale view's grad_fn was made anew, new hooks go to it."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    v = b[0:1]
    calls = []
    v.register_hook(lambda g: calls.append(("old", g)))
    w = v * 7
    b.mul_(3)
    node = v.grad_fn
    v.register_hook(lambda g: calls.append(("new", g)))
    ((v * 5).sum() + w.sum()).backward()
    return [node, calls, a.grad]


@differential
def test_V_19_leaf_hooks_live_with_the_leaf(torch):
    """V-19: a leaf written under no_grad keeps its hooks."""
    a = torch.ones(2, requires_grad=True)
    calls = []
    a.register_hook(lambda g: calls.append(g))
    with torch.no_grad():
        a.mul_(4)
    (a * 5).sum().backward()
    return [calls, a.grad, a._version]


@differential
def test_V_20_removing_and_adding_while_running(torch):
    """V-20: the list is copied before it runs: removals and additions count from the next backward."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    calls = []
    handles = {}

    def first(g):
        calls.append("first")
        handles["first"].remove()
        handles["second"].remove()
        if "third" not in handles:
            handles["third"] = b.register_hook(lambda g: calls.append("third"))

    handles["first"] = b.register_hook(first)
    handles["second"] = b.register_hook(lambda g: calls.append("second"))
    out = b.sum()
    out.backward(retain_graph=True)
    once = list(calls)
    out.backward()
    return [once, calls]


@differential
def test_V_21_post_accumulate_hook(torch):
    """V-21: called with the very leaf after .grad changed, updates and clearing allowed."""
    a = torch.ones(2, requires_grad=True)
    seen = []

    def step(t):
        seen.append((t is a, t.grad.clone(), torch.is_grad_enabled()))
        t.add_(t.grad, alpha=-0.1)
        t.grad = None

    handle = a.register_post_accumulate_grad_hook(step)
    (a * 2).sum().backward()
    (a * 3).sum().backward()
    torch.autograd.grad((a * 3).sum(), a)
    count = len(seen)
    handle.remove()
    (a * 4).sum().backward()
    return [seen, count, a, a.grad]


@differential
def test_V_21_order_and_grad_mode(torch):
    """V-21: hooks run in order; grad mode inside equals create_graph."""
    a = torch.ones(2, requires_grad=True)
    seen = []
    a.register_post_accumulate_grad_hook(lambda t: seen.append(("one", torch.is_grad_enabled())))
    a.register_post_accumulate_grad_hook(lambda t: seen.append(("two", t.grad is not None)))
    a.register_hook(lambda g: seen.append("tensor hook"))
    (a * a).sum().backward(create_graph=True)
    a.grad = None
    return seen


@differential
def test_V_21_misuse(torch):
    """V-21: refused without grad and on non-leaves; a hook must return None."""
    a = torch.ones(2, requires_grad=True)
    return [
        raises("cannot register a hook on a tensor", torch.ones(2).register_post_accumulate_grad_hook, print),
        raises("cannot be registered on non-leaf tensors", (a * 2).register_post_accumulate_grad_hook, print),
        _returning(torch, 5, "expected Variable, but hook returned"),
        _returning(torch, torch.zeros(2), "should return None"),
    ]


def _returning(torch, value, phrase):
    a = torch.ones(2, requires_grad=True)
    a.register_post_accumulate_grad_hook(lambda t: value)
    return raises(phrase, (a * 2).sum().backward)


@differential
def test_hooks_that_programs_set(torch):
    """V-17: ``_backward_hooks`` of a leaf can be set, as by programs that rebuild tensors; None runs none."""
    found = []
    for hooks in (OrderedDict({0: lambda g: g * 5}), None):
        x = torch.tensor([1.0], requires_grad=True)
        x.register_hook(lambda g: g * 3)
        x._backward_hooks = hooks
        (x * 2).backward()
        handle = x.register_hook(lambda g: g + 1)
        (x * 2).backward()
        handle.remove()
        found += [x.grad, len(x._backward_hooks)]
    return found
