"""SPEC rows G-45 to G-52: saved tensors that may be changed in place because they are copied first."""

from __future__ import annotations

import gc
import threading

import pytest
from both_engines import differential, raises
from custom_functions import squaring

import retrograd
from retrograd.autograd.graph import allow_mutation_on_saved_tensors


def sizes(context):
    """Entries of the four maps."""
    maps = (context.original, context.cloned, context.tid_to_weakhandle, context.sid_to_tid)
    return [len(list(m.keys())) for m in maps]


@differential
def test_G_45_purpose(torch):
    """G-45: backward sees the values from before the write; at the end, also by an exception, all is forgotten."""
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    a = torch.ones(2, requires_grad=True)
    with allow() as context:
        b = a.clone()
        y = (b * b).sum()
        b.mul_(5)
        y.backward()
    after = sizes(context)
    found = []
    try:
        with allow() as context:
            a.exp()
            raise KeyError("x")
    except KeyError:
        found.append(sizes(context))
    plain = a.clone()
    z = plain.sin()
    plain.mul_(2)
    return a.grad, after, found, raises("modified by an inplace operation", z.sum().backward)


@differential
def test_G_46_maps(torch):
    """G-46: a handle lives as long as a node holds it; the sets of keys stay until the end."""
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = torch.ones(2, requires_grad=True)
        y = a.sin()
        saved = sizes(context)
        ((tid, handle),) = context.tid_to_weakhandle.items()
        known = handle in context.original, tid[0] == id(a), tid[1] == a.data_ptr(), tid[2]
        del handle
        y.sum().backward()
        gc.collect()
        freed = sizes(context)
    return saved, known, freed


@differential
def test_G_47_same_tensor_shares_a_handle(torch):
    """G-47: the same tensor and version saved twice is kept once, after a write anew."""
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = torch.ones(2, requires_grad=True)
        b = a.clone()
        first, second = b.sin(), b.cos()
        counts = [len(list(context.original.keys()))]
        b.mul_(2)
        counts.append(len(list(context.cloned.keys())))
        third = b.sin()
        counts += [len(list(context.original.keys())), len(list(context.cloned.keys()))]
        (first + second + third).sum().backward()
    return counts, a.grad


@differential
def test_G_48_writes_that_are_noticed(torch):
    """G-48: in-place methods, out=, list-wise operations, indexing, fills, and writes through detach."""

    def through_index(b):
        b[0] = 7.0

    writes = {
        "method": lambda b: b.add_(1), "fill": lambda b: b.fill_(3), "zero": lambda b: b.zero_(),
        "copy": lambda b: b.copy_(torch.ones(2)), "index": through_index,
        "detach": lambda b: b.detach().mul_(2), "list": lambda b: torch._foreach_add_([b], 1.0),
    }  # fmt: skip
    found = {}
    for name, write in writes.items():
        with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
            a = torch.tensor([2.0, 3.0], requires_grad=True)
            b = a.clone()
            y = (b * b).sum()
            write(b)
            cloned = len(list(context.cloned.keys()))
            y.backward()
            found[name] = (cloned, a.grad)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = torch.tensor([2.0, 3.0], requires_grad=True)
        with torch.no_grad():
            b = torch.tensor([5.0, 6.0])
        y = (a * b).sum()
        torch.mul(torch.ones(2), torch.ones(2), out=b)
        y.backward()
        found["out"] = (b, a.grad)
    return found


def test_G_48_writes_of_the_engine_itself():
    """G-48: a .grad that was saved and is then accumulated into is copied, too."""
    with allow_mutation_on_saved_tensors() as context:
        a = retrograd.tensor([2.0, 3.0], requires_grad=True)
        (a * 1).sum().backward()
        b = retrograd.ones(2, requires_grad=True)
        y = (b * a.grad).sum()
        (a * 4).sum().backward()
        assert len(context.cloned) == 1
        y.backward()
        assert b.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("case", ["view of a saved base", "base of a saved view", "data", "data twice"])
def test_G_49_memory_counts_not_the_address(case):
    """G-49: writes through views that start elsewhere and through .data are noticed (PyTorch misses them)."""
    with allow_mutation_on_saved_tensors() as context:
        a = retrograd.ones(4, requires_grad=True)
        b = a.clone()
        if case == "view of a saved base":
            y = (b * b).sum()
            b[2:].mul_(3)
        elif case == "base of a saved view":
            v = b[2:]
            y = (v * v).sum()
            b.mul_(3)
        else:
            y = (b * b).sum()
            b.data.mul_(3)
            if case == "data twice":  # the version did not change, yet the second value is another one
                y = y + (b * b).sum()
                b.data.mul_(3)
        assert len(context.cloned) == (2 if case == "data twice" else 1)
        y.backward()
    expected = {"base of a saved view": [0.0, 0.0, 2.0, 2.0], "data twice": [8.0] * 4}
    assert a.grad.tolist() == expected.get(case, [2.0] * 4)


def test_G_49_disjoint_parts_are_not_copied():
    """G-49: writing one part of a tensor does not copy a saved other part."""
    with allow_mutation_on_saved_tensors() as context:
        a = retrograd.ones(4, requires_grad=True)
        b = a.clone()
        y = b[:2].sin().sum()
        b[2:].mul_(3)
        assert len(context.cloned) == 0
        y.backward()


@differential
def test_G_50_outside(torch):
    """G-50: a graph recorded inside fails after the block and in a later one; one from outside is checked as usual."""
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    a = torch.ones(2, requires_grad=True)
    outside = a.clone()
    recorded_outside = outside.sin().sum()
    changed_outside = outside.cos().sum()
    with allow():
        y, z = a.sin().sum(), a.cos().sum()
        recorded_outside.backward()
        outside.mul_(2)
        third = raises("modified by an inplace operation", changed_outside.backward)
    phrase = "Trying to backward outside"
    first = raises(phrase, y.backward)
    with allow():
        second = raises(phrase, z.backward)
    return first, second, third, a.grad


def test_G_51_nesting():
    """G-51: refused, and the outer block goes on working (in PyTorch it fails from then on)."""
    a = retrograd.ones(2, requires_grad=True)
    with allow_mutation_on_saved_tensors() as context:
        b = a.clone()
        y = (b * b).sum()
        with pytest.raises(RuntimeError, match="contexts cannot be nested"), allow_mutation_on_saved_tensors():
            pass
        b.mul_(3)
        assert len(context.cloned) == 1
        y.backward()
    assert a.grad.tolist() == [2.0, 2.0]
    with allow_mutation_on_saved_tensors():
        pass


@differential
def test_G_51_message(torch):
    """G-51: the error of a nested block."""
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        return raises("contexts cannot be nested", allow().__enter__)


def test_G_51_threads_have_their_own():
    """G-51: two threads may each have a block."""
    barrier = threading.Barrier(2, timeout=300)
    found = []

    def work():
        with allow_mutation_on_saved_tensors():
            a = retrograd.ones(2, requires_grad=True)
            b = a.clone()
            barrier.wait()
            y = (b * b).sum()
            b.mul_(3)
            barrier.wait()
            y.backward()
            found.append(a.grad.tolist())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2.0, 2.0]] * 2


@differential
def test_G_52_interplay(torch):
    """G-52: leaves stay protected; double backward, custom Functions and operations that save their result work."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        refused = raises("a leaf Variable that requires grad", a.mul_, 2)
        b = a.clone()
        y = (b * b * b).sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        b.mul_(2)
        (h,) = torch.autograd.grad(g.sum(), a)
        c = a.clone()
        custom = squaring(torch).apply(c)
        c.zero_()
        (of_custom,) = torch.autograd.grad(custom.sum(), a)
        d = a.exp()
        z = d * 1
        d.mul_(2)
        (of_result,) = torch.autograd.grad(z.sum(), a)
        e = a.clone()
        e.exp_()
        w = e * 1
        e.mul_(3)
        (of_inplace,) = torch.autograd.grad(w.sum(), a, retain_graph=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = (a * a).sum()
        with torch.no_grad():
            a.mul_(10)
        (of_leaf,) = torch.autograd.grad(y, a)
    return refused, g, h, of_custom, of_result, of_inplace, of_leaf
