"""Index tensors of ``x[...]`` are saved as tensors: packed by hooks, checked for writes, shown as they are."""

from __future__ import annotations

import warnings

import numpy as np
from both_engines import differential, raises


def _indices(torch):
    every = slice(None)
    return {
        "long": torch.tensor([0, 2]),
        "list": [0, 2],
        "mask": torch.tensor([True, False, True]),
        "bytes": (every, torch.tensor([1])),
        "two": (torch.tensor([0, 1]), torch.tensor([1, 0])),
        "number": 1,
    }


def _reads_and_writes(torch, x):
    return {
        **{name: (lambda index=index: x[index]) for name, index in _indices(torch).items()},
        "index_put": lambda: x.index_put((torch.tensor([0]),), torch.ones(1, 2)),
        "written": lambda: _written(x.clone(), torch.tensor([0, 1])),
    }


def _written(y, index):
    y[index] = 3.0
    return y


@differential
def test_indices_are_packed(torch):
    """G-24: pack hooks are given index tensors and masks, and backward asks for them back."""
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    results = {}
    for name, call in _reads_and_writes(torch, x).items():
        packed, unpacked = [], []
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda t, packed=packed: (packed.append(str(t.dtype)), t.clone())[1],
            lambda t, unpacked=unpacked: (unpacked.append(str(t.dtype)), t)[1],
        )
        with hooks:
            y = call()
        results[name] = (packed, torch.autograd.grad((y * y).sum(), x)[0], unpacked)
    return results


@differential
def test_hooks_may_give_other_indices(torch):
    """G-25: what unpack returns is what backward indexes with."""
    x = torch.zeros(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t + 1 if t.dtype == torch.int64 else t):
        y = x[torch.tensor([0, 1])]
    return torch.autograd.grad(y.sum(), x)


@differential
def test_written_indices_are_found(torch):
    """V-22: an index tensor that was written after its use is found by backward, with and without a graph."""
    x = torch.arange(3.0, requires_grad=True)
    found = []
    for index in (torch.tensor([0, 2]), torch.tensor([True, False, True])):
        for create_graph in (False, True):
            y = x[index]
            index.fill_(1)
            text = "modified by an inplace operation"
            found.append(raises(text, torch.autograd.grad, y.sum(), x, create_graph=create_graph))
            z = x.clone()
            z[index] = 2.0
            index.fill_(0)
            found.append(raises(text, z.sum().backward))
    return found


@differential
def test_masks_of_bytes(torch):
    """V-22: a mask of bytes is saved as it was given, a write to it is found; each use of it is warned of."""
    x, mask = torch.arange(3.0, requires_grad=True), torch.tensor([1, 0, 1], dtype=torch.uint8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x[mask]
        gradient = torch.autograd.grad(y.sum(), x, retain_graph=True)
        saved = y.grad_fn._saved_indices[0] is mask
        said = [str(w.message).partition(" (Triggered")[0] for w in caught]
        array = x[np.array([1, 0, 1], dtype=np.uint8)]
        mask.fill_(1)
        refused = raises("modified by an inplace operation", torch.autograd.grad, y.sum(), x)
    return y, gradient, saved, said, array, refused


@differential
def test_masks_of_bytes_in_watched_backward(torch):
    """V-22: a mask of bytes is one also where hooks watch the node, and so it is read in another way."""
    x, mask = torch.arange(3.0, requires_grad=True), torch.tensor([1, 0, 1], dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x[mask]
        y.grad_fn.register_prehook(lambda grads: None)
        return torch.autograd.grad(y.sum(), x)


@differential
def test_indices_of_one_value(torch):
    """V-22: one byte is a mask of everything or nothing, an array of one integer takes a view."""
    x = torch.arange(6.0).reshape(3, 2)
    written = x.clone()
    written[torch.tensor(1, dtype=torch.uint8)] = 3.0
    return x[torch.tensor(1, dtype=torch.uint8)], x[np.array(0, dtype=np.uint8)], x[:, np.array(1)]._is_view(), written


@differential
def test_indices_as_shown(torch):
    """G-14: ``_saved_indices`` are the tensors themselves, ``None`` stands for whole dimensions; both derivatives."""
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    index = torch.tensor([0, 2])
    node = x[index].grad_fn
    handle = x[index].grad_fn
    handle._raw_saved_indices[0].register_hooks(lambda t: t, lambda t: t)
    (first,) = torch.autograd.grad((x[:, index[:1]] ** 3).sum(), x, create_graph=True)
    return (
        node._saved_indices[0] is index,
        x[:, index[:1]].grad_fn._saved_indices,
        handle(torch.ones(2, 2)),
        torch.autograd.grad(first.sum(), x),
    )


@differential
def test_indices_of_inference_mode(torch):
    """An index tensor of inference mode cannot be saved for backward; without one it can be used."""
    with torch.inference_mode():
        index = torch.tensor([0])
    x = torch.ones(2)
    refused = raises("Inference tensors cannot be saved for backward", lambda: x.clone().requires_grad_()[index])
    return x[index], refused
