"""SPEC rows G-36 to G-44: handles and hooks of several tensors."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import threading
import weakref
from collections import OrderedDict

import pytest
from both_engines import differential, raises

import retrograd


def handle_class_of(torch):
    """The engine's handle class."""
    return importlib.import_module(f"{torch.__name__}.utils.hooks").RemovableHandle


@differential
def test_G_36_removable_handle(torch):
    """G-36: removes its id from the main and the extra dictionaries, again without effect, also at the end of with."""
    handle_class = handle_class_of(torch)
    hooks, extra, more = OrderedDict(), OrderedDict(), OrderedDict()
    handle = handle_class(hooks, extra_dict=extra)
    hooks[handle.id] = extra[handle.id] = 1
    several = handle_class(hooks, extra_dict=[extra, more])
    hooks[several.id] = more[several.id] = 2
    ids = several.id - handle.id
    handle.remove()
    handle.remove()
    after = len(hooks), len(extra), len(more)
    with several as entered:
        same = entered is several
    dead = OrderedDict()
    orphan = handle_class(dead)
    del dead
    gc.collect()
    orphan.remove()
    return ids, after, same, len(hooks), len(more), raises("cannot create weak reference", handle_class, {})


@differential
def test_G_37_pickling(torch):
    """G-37: pickled with its dictionary it stays linked, alone it ends dead; the counter moves past loaded ids."""
    handle_class = handle_class_of(torch)
    hooks = OrderedDict()
    handle = handle_class(hooks)
    hooks[handle.id] = "hook"
    loaded_hooks, loaded = pickle.loads(pickle.dumps((hooks, handle)))
    same_id = loaded.id == handle.id
    loaded.remove()
    alone = pickle.loads(pickle.dumps(handle))
    gc.collect()
    dead = alone.hooks_dict_ref() is None
    alone.remove()
    state = handle.__getstate__()
    forged = handle_class.__new__(handle_class)
    forged.__setstate__((hooks, handle_class.next_id + 100, ()))
    moved = handle_class(hooks).id > forged.id
    old = handle_class.__new__(handle_class)
    old.__setstate__((None, 0))
    old.remove()
    return same_id, len(loaded_hooks), len(hooks), dead, state[0] is hooks, state[1] == handle.id, state[2], moved


@differential
def test_G_38_multi_handle(torch):
    """G-38: one handle for several; removes all, pickles to the tuple of them."""
    multi = torch.autograd.graph._MultiHandle
    handle_class = handle_class_of(torch)
    hooks = OrderedDict()
    parts = tuple(handle_class(hooks) for _ in range(3))
    for part in parts:
        hooks[part.id] = 1
    made = multi(parts)
    copied = pickle.loads(pickle.dumps(made))
    same = [h.id for h in copied.handles] == [h.id for h in parts]
    with made:
        inside = len(hooks)
    return issubclass(multi, handle_class), isinstance(copied, multi), same, inside, len(hooks), made.handles is parts


def four(torch):
    """Two leaves, their product, and a product with another leaf."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    c = a * b
    return a, b, c, c * b


@differential
def test_G_39_wiring(torch):
    """G-39: the function gets a list of gradients, its result is ignored; misuse is found when registering."""
    register = torch.autograd.graph.register_multi_grad_hook
    a, _b, c, d = four(torch)
    seen = []

    def hook(grads):
        seen.append((type(grads).__name__, grads))
        return [g * 100 for g in grads]

    handle = register((a, c), hook)
    d.sum().backward(retain_graph=True)
    first = a.grad.clone()
    handle.remove()
    d.sum().backward()
    empty = register((), hook)
    empty.remove()
    return (
        seen, first, isinstance(handle, torch.autograd.graph._MultiHandle), len(handle.handles), len(empty.handles),
        raises("Expected gradient function to be set", register, (a, torch.ones(1)), hook),
        raises("Expects mode to be one of", register, (a,), hook, mode="some"),
    )  # fmt: skip


@differential
def test_G_39_only_inside_backward(torch):
    """G-39: an inner hook called outside of backward fails an assertion, in both modes."""
    register = torch.autograd.graph.register_multi_grad_hook
    found = []
    for mode in ("all", "any"):
        a = torch.ones(2, requires_grad=True)
        register((a,), lambda g: None, mode=mode)
        (inner,) = a._backward_hooks.values()
        found.append(raises("expected this hook to be called inside a backward call", inner, torch.ones(2)))
    return found


@differential
def test_G_40_when_it_fires(torch):
    """G-40: once per task, when all registered nodes that this task executes delivered; None for the others."""
    register = torch.autograd.graph.register_multi_grad_hook
    a, b, c, d = four(torch)
    other = torch.ones(2, requires_grad=True) * 2
    seen = []
    register((a, b, c, d), lambda grads: seen.append([g is not None for g in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c.sum() + d.sum()).backward(retain_graph=True)
    torch.autograd.grad(d.sum(), c, retain_graph=True)
    other.sum().backward()
    d.sum().backward()
    return seen


@differential
def test_G_40_duplicates_and_missing_outputs(torch):
    """G-40: a tensor listed twice counts twice; an output without gradient comes as None."""
    register = torch.autograd.graph.register_multi_grad_hook
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    first, second = a.unbind()
    seen = []
    register((a, a), lambda grads: seen.append(("twice", grads)))
    register((first, second), lambda grads: seen.append(("outputs", grads)))
    (first * 3).backward()
    return seen


@differential
def test_G_41_leaf_under_grad(torch):
    """G-41: grad() to a leaf of the list is refused, to an interior tensor or by backward(inputs=) it works."""
    register = torch.autograd.graph.register_multi_grad_hook
    a, b, c, d = four(torch)
    seen = []
    handle = register((a, c), lambda grads: seen.append([g is not None for g in grads]))
    phrase = "A leaf node was passed to _will_engine_execute_node"
    refused = raises(phrase, torch.autograd.grad, d.sum(), a, retain_graph=True)
    torch.autograd.grad(d.sum(), c, retain_graph=True)
    d.sum().backward(inputs=[a], retain_graph=True)
    handle.remove()
    register((b, c), lambda grads: seen.append([g is not None for g in grads]))
    torch.autograd.grad(d.sum(), a)
    return refused, seen


def test_G_42_each_task_has_its_own_count():
    """G-42: a backward inside a backward does not disturb the outer one (in PyTorch the outer one never fires)."""
    a = retrograd.ones(2, requires_grad=True)
    b = retrograd.ones(2, requires_grad=True)
    y = (a * b).sum()
    seen = []
    retrograd.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g is not None for g in grads]))

    class Interrupts(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx, x, z):
            return x + z

        @staticmethod
        def backward(ctx, g):
            y.backward(inputs=[a], retain_graph=True)
            return g, g

    # a's gradient of the outer task arrives before the interruption, b's after it
    (a.exp().sum() + Interrupts.apply(b.sum(), y.detach())).backward()
    assert seen == [[True, False], [True, True]]


@differential
def test_G_42_function_that_raises(torch):
    """G-42: an exception in the function comes out of each backward, and the state stays sound."""
    a, b, _c, d = four(torch)
    calls = []

    def hook(grads):
        calls.append(len(grads))
        if len(calls) < 3:
            raise KeyError("mine")

    torch.autograd.graph.register_multi_grad_hook((a, b), hook)
    total = d.sum()
    return (
        raises("mine", total.backward, retain_graph=True), raises("mine", total.backward, retain_graph=True),
        total.backward(retain_graph=True), calls,
    )  # fmt: skip


def test_G_42_nothing_is_kept_of_a_task_that_failed():
    """G-42: gradients gathered by a task that failed before it was complete do not stay in memory."""
    a = retrograd.ones(2, requires_grad=True)
    b = retrograd.ones(2, requires_grad=True)
    late = b.exp()
    early = a.exp()
    retrograd.autograd.graph.register_multi_grad_hook((early, b), lambda grads: None)
    kept = []
    early.register_hook(lambda g: kept.append(weakref.ref(g)))

    def fails(*_):
        raise KeyError("stop")

    late.grad_fn.register_prehook(fails)
    with pytest.raises(KeyError):
        (early.sum() + late.sum()).backward()
    gc.collect()
    assert [ref() for ref in kept] == [None]


@differential
def test_G_43_mode_any(torch):
    """G-43: called once per backward with the first gradient; tensors without grad are skipped, results ignored."""
    register = torch.autograd.graph.register_multi_grad_hook
    a, b, c, d = four(torch)
    seen = []

    def my_hook(grad):
        seen.append(grad)
        return grad * 100

    handle = register((a, b, c, torch.ones(1)), my_hook, mode="any")
    names = [hook.__name__ for hook in a._backward_hooks.values()]
    d.sum().backward(retain_graph=True)
    d.sum().backward()
    nothing = register((torch.ones(1),), my_hook, mode="any")
    return seen, a.grad, b.grad, names, len(handle.handles), len(nothing.handles)


def test_G_44_threads():
    """G-44: 4 threads with 20 backward calls each make 80 complete calls."""
    a = retrograd.ones(4, requires_grad=True)
    b = retrograd.ones(4, requires_grad=True)
    seen = []
    retrograd.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g is not None for g in grads]))

    def work():
        for _ in range(20):
            (a * b).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [[True, True]] * 80
    assert a.grad.tolist() == [80.0] * 4


@differential
def test_G_44_reentrant_tasks(torch):
    """G-44: a nested backward is a task with an id of its own; the outer one fires last."""
    seen = []
    a = torch.ones(2, requires_grad=True)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                inner = torch.ones(2, requires_grad=True)
                y = inner * 2
                torch.autograd.graph.register_multi_grad_hook(
                    (inner, y), lambda grads: seen.append(("inner", torch._C._current_graph_task_id()))
                )
                y.sum().backward()
            return g

    torch.autograd.graph.register_multi_grad_hook(
        (a,), lambda grads: seen.append(("outer", torch._C._current_graph_task_id()))
    )
    Inner.apply(a).sum().backward()
    return [name for name, _ in seen], seen[0][1] != seen[1][1]


@differential
def test_G_36_handles_copy_with_their_tensor(torch):
    """G-36: a deep copy of a hook dictionary and its handle stay linked to each other."""
    hooks = OrderedDict()
    handle = handle_class_of(torch)(hooks)
    hooks[handle.id] = "hook"
    copied, copied_handle = copy.deepcopy((hooks, handle))
    copied_handle.remove()
    return len(copied), len(hooks)
