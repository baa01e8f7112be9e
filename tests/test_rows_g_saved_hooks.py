"""SPEC rows G-23 to G-31, G-33 to G-35: hooks of saved tensors, their handles, and switching hooks off."""

from __future__ import annotations

import gc
import importlib
import threading
import weakref

import pytest
from both_engines import differential, raises

import retrograd


def leaf(torch, *values):
    """A leaf that requires grad."""
    return torch.tensor(list(values or (1.0, 2.0)), requires_grad=True)


@differential
def test_G_23_scope(torch):
    """G-23: a context manager, re-entrant in itself, no decorator; entering returns None."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    packed = []

    def pack(t):
        packed.append(1)
        return t

    def unpack(t):
        return t

    made = hooks(pack, unpack)
    a = leaf(torch)
    with made as entered:
        with made:
            a.sin()
        a.sin()
    with made:
        a.sin()
    a.sin()
    return (
        len(packed), entered, made.pack_hook is pack, made.unpack_hook is unpack,
        raises("not callable", lambda: made(lambda: 0)), raises("", hooks(3, unpack).__enter__),
        raises("", hooks(pack, None).__enter__),
    )  # fmt: skip


@differential
def test_G_23_thread_local(torch):
    """G-23: a thread started inside the block does not see the hooks."""
    packed = []
    a = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        thread = threading.Thread(target=a.sin)
        thread.start()
        thread.join()
    return packed


@differential
def test_G_23_exception_closes(torch):
    """G-23: leaving by an exception switches the hooks off again."""
    packed = []
    a = leaf(torch)
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
            raise KeyError("x")
    except KeyError:
        pass
    a.sin()
    return packed


@differential
def test_G_24_what_pack_sees(torch):
    """G-24: the real tensor, grad mode off, a result already with its node, only the innermost pair."""
    seen = []

    def pack(name):
        def hook(t):
            node = None if t.grad_fn is None else t.grad_fn.name()
            seen.append((name, t.is_leaf, t.requires_grad, node, torch.is_grad_enabled()))
            return t

        return hook

    hooks = torch.autograd.graph.saved_tensors_hooks
    a = leaf(torch)
    with hooks(pack("outer"), lambda t: t):
        with hooks(pack("inner"), lambda t: t):
            a.exp()
            (a * 1).sin()
        a.sin()
    return seen


@differential
def test_G_24_anything_may_be_kept(torch):
    """G-24: what pack returns is kept, whatever it is; operands of one operation are packed in any order."""
    boxes = {}

    def pack(t):
        boxes[len(boxes)] = t.detach().clone()
        return f"box {len(boxes) - 1}"

    a, b = leaf(torch), leaf(torch, 3.0, 4.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda name: boxes[int(name[4:])]):
        y = (a * b).sum()
    y.backward()
    return a.grad, b.grad, len(boxes)


@differential
def test_G_24_errors(torch):
    """G-24: an exception in pack comes out of the operation; changing the input in place is refused."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    a = leaf(torch)

    def fails(t):
        raise KeyError("no room")

    def changes(t):
        t.mul_(2)
        return t

    with hooks(fails, lambda t: t):
        first = raises("no room", a.sin)
    with hooks(changes, lambda t: t):
        second = raises("pack hook is modifying its input", a.clone().sin)
    (a * 2).sin().sum().backward()
    return first, second, a.grad


@differential
def test_G_25_unpacked_tensor(torch):
    """G-25: rebuilt with the original's place in the graph: a leaf stays a leaf, an interior tensor has its node."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    counts = []
    a = leaf(torch)
    modes = []

    def unpack(t):
        counts.append(1)
        modes.append(torch.is_grad_enabled())
        return t

    with hooks(lambda t: t.detach(), unpack):
        y = a * a
        z = y * y
    saved_leaf, saved_inner = y.grad_fn._saved_self, z.grad_fn._saved_self
    shown = (
        saved_leaf.requires_grad, saved_leaf.is_leaf, saved_leaf is a, saved_inner.grad_fn is y.grad_fn,
        saved_inner.output_nr, saved_leaf.grad_fn,
    )  # fmt: skip
    total = z.sum()
    before = len(counts)
    total.backward(retain_graph=True)
    middle = len(counts)
    modes_of_backward = modes[before:]
    total.backward()
    return shown, before, middle - before, len(counts) - middle, modes_of_backward, a.grad


@differential
def test_G_25_double_backward_connects(torch):
    """G-25: gradients of gradients flow through unpacked values to the original leaf."""
    a = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = (a * a * a).sum()
    (g,) = torch.autograd.grad(y, a, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), a)
    return g, h


@differential
def test_G_25_errors(torch):
    """G-25: unpack must return a tensor; its exceptions come out of backward."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    a = leaf(torch)

    def fails(_):
        raise KeyError("lost")

    with hooks(lambda t: t, lambda t: 3):
        y = a.sin().sum()
    with hooks(lambda t: t, fails):
        z = a.sin().sum()
    return raises("unpack_hook expected to be a Tensor", y.backward), raises("lost", z.backward), a.grad


@differential
def test_G_26_no_version_check(torch):
    """G-26: packed values are not checked for writes: a copy is right, an alias silently has the new value."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    found = []
    for pack in (lambda t: t.clone(), lambda t: t.detach()):
        a = leaf(torch, 1.0, 1.0)
        b = a.clone()
        with hooks(pack, lambda t: t):
            y = (b * b).sum()
        with torch.no_grad():
            b.mul_(5)
        y.backward()
        found.append(a.grad)
    return found


def lifetimes(torch):
    """Whether the packed object lives: kept graph, after the last backward, a graph that dies unused; the error."""

    class Box:
        def __init__(self, t):
            self.t = t.detach().clone()

    refs = []

    def pack(t):
        box = Box(t)
        refs.append(weakref.ref(box))
        return box

    a = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.t):
        y, unused = a.exp().sum(), a.exp().sum()
    y.backward(retain_graph=True)
    kept = refs[0]() is not None
    y.backward()
    freed = refs[0]() is None
    del unused
    return kept, freed, refs[1]() is None, raises("backward through the graph a second time", y.backward)


def test_G_27_lifetime():
    """G-27: the packed object goes right after the node ran, or with the graph, without the garbage collector."""
    torch = pytest.importorskip("torch")
    gc.disable()
    try:
        assert lifetimes(torch) == lifetimes(retrograd) == (True, True, True, "RuntimeError")
    finally:
        gc.enable()


@differential
def test_G_28_double_backward_packs(torch):
    """G-28: what is saved while a gradient graph is built is packed too."""
    a = leaf(torch)
    y = (a * a * a).sum()
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        (g,) = torch.autograd.grad(y, a, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), a)
    return len(packed) > 0, h


@differential
def test_G_29_numbers_are_not_packed(torch):
    """G-29: a number operand is saved without the hooks; a tensor operand only if its value is needed."""
    packed = []
    a = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        a * 2
        numbers = len(packed)
        y = a * torch.ones(2)
        tensors = len(packed)
        2 / a
    y.sum().backward()
    return numbers, tensors, len(packed), a.grad


def test_G_30_identity_hooks_cycle_is_collected():
    """G-30: a pack hook that keeps the result itself makes a cycle; the garbage collector gets it back here."""
    a = leaf(retrograd)
    with retrograd.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = a.exp()
    ref = weakref.ref(y)
    del y
    gc.collect()
    assert ref() is None


@differential
def test_G_31_register_hooks_on_a_handle(torch):
    """G-31: the handle packs at once and unpacks from then on; every misuse has its error."""
    a = leaf(torch, 3.0, 4.0)
    y = a**2
    handle = y.grad_fn._raw_saved_self
    handle.register_hooks(lambda t: t * 2, lambda t: t * 10)
    shown = y.grad_fn._saved_self
    again = raises("hooks have already been set", handle.register_hooks, lambda t: t, lambda t: t)
    y.sum().backward()
    z = a**2
    second = z.grad_fn._raw_saved_self
    wrong = raises("", second.register_hooks, 3, lambda t: t)
    also_wrong = raises("", second.register_hooks, lambda t: t, 3)
    empty = (a * 2).grad_fn._raw_saved_self
    none = raises("with value None is forbidden", empty.register_hooks, lambda t: t, lambda t: t)
    z.sum().backward()
    freed = raises("after it has been freed", second.register_hooks, lambda t: t, lambda t: t)
    return shown, a.grad, again, wrong, also_wrong, none, freed


@differential
def test_G_31_handle_shows_its_parts(torch):
    """G-31: data is what is kept, unpack gives the tensor, unpack_hook the hook; no handle is made from Python."""
    a = leaf(torch)
    y = a**2
    handle = y.grad_fn._raw_saved_self
    before = handle.data is a, handle.unpack() is a, handle.unpack_hook

    def unpack(box):
        return box[0]

    handle.register_hooks(lambda t: [t], unpack)
    return (
        before, type(handle.data).__name__, handle.unpack(), handle.unpack_hook is unpack,
        raises("from Python is forbidden", torch.autograd.SavedTensor),
    )  # fmt: skip


@differential
def test_G_31_result_handle(torch):
    """G-31: hooks also work on an operation's own result, and pack sees a plain alias."""
    a = leaf(torch)
    y = a.exp()
    seen = []

    def pack(t):
        seen.append((t.requires_grad, t.grad_fn))
        return t.clone()

    y.grad_fn._raw_saved_result.register_hooks(pack, lambda t: t * 2)
    y.sum().backward()
    return seen, a.grad


@differential
def test_G_33_disable(torch):
    """G-33: entering hooks raises the innermost message, restored also after exceptions; works as decorator."""
    graph = torch.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    enabled = torch._C._autograd._saved_tensors_hooks_is_enabled
    message = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message
    found = [message(), enabled()]
    with graph.disable_saved_tensors_hooks("outer says no"):
        found += [message(), enabled(), raises("outer says no", hooks.__enter__)]
        with graph.disable_saved_tensors_hooks("inner says no"):
            found += [message(), raises("inner says no", hooks.__enter__)]
        try:
            with graph.disable_saved_tensors_hooks("third"):
                raise KeyError("x")
        except KeyError:
            pass
        found.append(message())
        thread_saw = []
        thread = threading.Thread(target=lambda: thread_saw.append(message()))
        thread.start()
        thread.join()
        found.append(thread_saw)

    @graph.disable_saved_tensors_hooks("decorated")
    def decorated():
        return message()

    found += [message(), decorated(), decorated(), message()]
    with hooks:
        found.append(raises("at once", graph.disable_saved_tensors_hooks("at once").__enter__))
    with hooks:
        pass
    return found


@differential
def test_G_34_stream_switches(torch):
    """G-34: settings about GPU streams are accepted and do nothing."""
    graph = torch.autograd.graph
    return (
        [graph.set_warn_on_accumulate_grad_stream_mismatch(v) for v in (False, True)],
        [graph.set_override_stale_capture_stream(v) for v in (True, False)],
    )


@differential
def test_G_35_region_budget(torch):
    """G-35: only for compiled regions; the argument is checked first."""
    budget = torch.autograd.graph.region_activation_memory_budget

    def enter(value):
        with budget(value):
            pass

    return (
        raises("expects a float", enter, True), raises("expects a float", enter, "0.5"),
        raises("must be in [0, 1]", enter, 1.5), raises("must be in [0, 1]", enter, -0.5),
        raises("can only be used inside a torch.compile region", enter, 0.5),
    )  # fmt: skip


@differential
def test_G_23_innermost_pair(torch):
    """G-23: programs that nest blocks look up the innermost pair."""
    asked = importlib.import_module(f"{torch.__name__}._C")._autograd._top_saved_tensors_default_hooks
    first, second = (lambda t: t, lambda t: t), (lambda t: t, lambda t: t)
    found = [asked(False)]
    with torch.autograd.graph.saved_tensors_hooks(*first):
        found.append(asked(False) == first)
        with torch.autograd.graph.saved_tensors_hooks(*second):
            found += [asked(False) == second, asked(True) == second]
        found.append(asked(False) == first)
    return found


@differential
def test_G_23_hooks_left_and_entered_within_backward(torch):
    """G-23: what code within backward does to the stack of hooks is undone when backward is over."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    x = torch.ones(3, requires_grad=True)
    outer = hooks(lambda t: t, lambda t: (outer.__exit__(None, None, None), t)[1])
    outer.__enter__()
    x.sin().sum().backward()
    outer.__exit__(None, None, None)
    seen = []
    other = hooks(lambda t: (seen.append("packed"), t)[1], lambda t: t)
    inner = hooks(lambda t: t, lambda t: (other.__enter__(), t)[1])
    with inner:
        y = x.sin().sum()
    y.backward()
    x.cos().sum().backward()
    return seen
