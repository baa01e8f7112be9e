"""Gradients that are sparse, of look-ups; how they accumulate, what hooks and optimizers make of them (row V-11)."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises


def table(torch: Any) -> Any:
    """A leaf of four rows."""
    return torch.arange(8.0).reshape(4, 2).requires_grad_()


def looked_up(torch: Any, w: Any, *rows: int) -> Any:
    """Some rows, with a sparse gradient."""
    return torch.nn.functional.embedding(torch.tensor(list(rows or (1, 3, 1))), w, sparse=True)


def sparse(torch: Any, *parts: Any) -> Any:
    """A sparse tensor; PyTorch says once that it does not check places."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.sparse_coo_tensor(*parts)


def told(t: Any) -> Any:
    """What is to be seen of a gradient."""
    if t is None or not t.is_sparse:
        return t if t is None else [t.detach(), t.requires_grad]
    node = t.grad_fn and t.grad_fn.name()
    return [t._indices(), t._values().detach(), tuple(t.shape), t.is_coalesced(), str(t.layout), t.requires_grad, node]


LOOKED_UP = {
    "indices of two dimensions": lambda torch, w, e: e(torch.tensor([[1, 3], [0, 1]]), w, sparse=True),
    "a row without gradient": lambda torch, w, e: e(torch.tensor([1, 3, 1]), w, padding_idx=1, sparse=True),
    "nothing": lambda torch, w, e: e(torch.zeros(0, dtype=torch.long), w, sparse=True),
    "sums": lambda torch, w, e: bags(torch, w, mode="sum"),
    "means": lambda torch, w, e: bags(torch, w, mode="mean"),
    "sums without a row": lambda torch, w, e: bags(torch, w, mode="sum", padding_idx=1),
    "weighted sums": lambda torch, w, e: bags(torch, w, mode="sum", per_sample_weights=torch.tensor([1.0, 2, 3, 4])),
    "gather": lambda torch, w, e: torch.gather(w, 1, torch.tensor([[0, 0], [1, 0]]), sparse_grad=True),
    "gather of one": lambda torch, w, e: w.sum().gather(0, torch.tensor(0), sparse_grad=True),
    "a node between": lambda torch, w, e: e(torch.tensor([2, 2]), w * 3, sparse=True),
    "tied weights": lambda torch, w, e: e(torch.tensor([2, 2]), w, sparse=True) @ w.t(),
}


def bags(torch: Any, w: Any, **options: Any) -> Any:
    """Two bags."""
    indices, offsets = torch.tensor([1, 3, 1, 0]), torch.tensor([0, 2])
    return torch.nn.functional.embedding_bag(indices, w, offsets, sparse=True, **options)


@pytest.mark.parametrize("what", LOOKED_UP)
def test_gradients_of_look_ups(what: str) -> None:
    """V-11: an entry for each look-up, in order; dense where a dense one comes on top; the node is the usual one."""

    def program(torch: Any) -> Any:
        w = table(torch)
        out = LOOKED_UP[what](torch, w, torch.nn.functional.embedding)
        out.sin().sum().backward()
        return out, out.grad_fn.name(), told(w.grad)

    assert_agree(program)


@differential
def test_modules_and_what_they_refuse(torch: Any) -> Any:
    """V-11: the layers' flag reaches the node; what has no sparse gradient is refused."""
    net, bag = torch.nn.Embedding(4, 2, sparse=True), torch.nn.EmbeddingBag(4, 2, sparse=True, mode="sum")
    seen = [repr(net), repr(bag)]
    for out in (net(torch.tensor([1, 1])), bag(torch.tensor([[1, 2]]))):
        out.sum().backward()
        seen += [out.grad_fn._saved_sparse]
    w = table(torch)
    scaled = torch.nn.functional.embedding(torch.tensor([1]), w, scale_grad_by_freq=True, sparse=True)
    return [*seen, told(net.weight.grad), told(bag.weight.grad),
            raises("scale_grad_by_freq not supported with sparse gradients", scaled.sum().backward),
            raises("max mode does not support sparse weights", bags, torch, w, mode="max")]  # fmt: skip


@differential
def test_sums_of_gradients(torch: Any) -> Any:
    """V-11: within one run and over two: which layout results, and whether ``.grad`` stays the same tensor."""
    seen = []
    for first, second in (("s", "s"), ("s", "d"), ("d", "s")):
        w, other = table(torch), table(torch)
        terms = {"s": lambda w: looked_up(torch, w).cos().sum(), "d": lambda w: (w * 2).sum()}
        terms[first](w).backward()
        before = w.grad
        terms[second](w).backward()
        (terms[first](other) + terms[second](other)).backward()
        seen.append([told(w.grad), w.grad is before, told(other.grad)])
    return seen


@differential
def test_the_order_of_entries_that_several_look_ups_have(torch: Any) -> Any:
    """V-11: within a run PyTorch adds what came first to what comes next; one without entries has any density."""
    look, seen = torch.nn.functional.embedding, []
    rows = {"few": [3], "twice": [0, 0], "several": [2, 1, 3], "none": []}
    for names in itertools.permutations(rows, 3):
        w = table(torch)
        parts = [look(torch.tensor(rows[name], dtype=torch.long), w, sparse=True).exp().sum() for name in names]
        (g,) = torch.autograd.grad(sum(parts), w, retain_graph=True)
        (with_graph,) = torch.autograd.grad(sum(parts), w, create_graph=True)
        sum(parts).backward()
        seen += [told(g), told(with_graph)[:4], told(w.grad)]
    w, at = table(torch), torch.tensor([[0, 1], [3, 3]])
    nothing = look(torch.zeros(0, dtype=torch.long), w, sparse=True).sum()
    (nothing + torch.gather(w, 0, at, sparse_grad=True).sum()).backward()
    return [*seen, told(w.grad)]


@differential
def test_merged_where_entries_lie_in_rows(torch: Any) -> Any:
    """V-11: PyTorch merges sparse tensors from their heads, also where places are in no order."""

    def made(*rows: int) -> Any:
        return sparse(torch, torch.tensor([rows]), torch.arange(1.0, len(rows) + 1), (6,))

    pairs = [((5, 1), (3, 4)), ((5, 1), (5, 3)), ((5, 3), (5, 1)), ((0, 2), (1, 2)), ((2,), (2, 2)), ((1, 2), (1, 2))]
    seen = [told(made(*a) + made(*b)) for a, b in pairs]
    other = torch.ones(2, 2).to_sparse(1)
    return (
        seen,
        told(made(1, 2).coalesce() + made(2, 3).coalesce()),
        told(made(1) - made(1, 0)),
        raises(
            "same density, but 'self' has 2 sparse dimensions while 'other' has 1 sparse dimensions",
            lambda: torch.ones(2, 2).to_sparse() + other,
        ),
    )


@differential
def test_retained_asked_for_and_of_second_order(torch: Any) -> Any:
    """V-11: ``retain_grad``, ``inputs=``, ``autograd.grad`` and gradients of gradients."""
    w = table(torch)
    between = w * 2
    between.retain_grad()
    looked_up(torch, between).sin().sum().backward(inputs=[w, between])
    (g,) = torch.autograd.grad(looked_up(torch, w).sin().sum(), w, create_graph=True)
    (penalised,) = torch.autograd.grad((g * g).sum(), w, retain_graph=True)
    (twice,) = torch.autograd.grad(g.to_dense().pow(2).sum(), w)
    kept = table(torch)
    looked_up(torch, kept).sin().sum().backward(create_graph=True)
    return [told(t) for t in (w.grad, between.grad, g, penalised, twice, kept.grad)], repr(g)


@differential
def test_hooks_see_them(torch: Any) -> Any:
    """V-11: hooks get and may replace sparse gradients by sparse ones; hooks after accumulation see ``.grad``."""
    w, seen = table(torch), []
    w.register_hook(lambda g: seen.append(told(g)))
    w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(told(p.grad)))
    looked_up(torch, w).sum().backward()
    dense = table(torch)
    dense.register_hook(lambda g: g.to_dense())
    refused = raises("has changed the type of value (was torch.sparse.FloatTensor got torch.FloatTensor)",
                     looked_up(torch, dense).sum().backward)  # fmt: skip
    return seen, told(w.grad), refused


def function(torch: Any, made: Any) -> Any:
    """A custom Function whose backward returns ``made(g)``."""

    class Own(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return made(g)

    return Own.apply


@differential
def test_custom_functions_return_them(torch: Any) -> Any:
    """V-11: a Function's sparse gradient is kept, added to others, passed on through nodes, cast, and checked."""
    places = torch.tensor([[0, 0]])
    own = function(torch, lambda g: sparse(torch, places, torch.ones(2, 2) * g[0], (4, 2)))
    w, twice, through = table(torch), table(torch), table(torch)
    own(w).sum().backward()
    (own(twice).sum() + own(twice).sum() + twice.sum()).backward()
    (own(through * 3) * torch.ones(4, 2)).sum().backward()
    cast = table(torch)
    function(torch, lambda g: g.double().to_sparse())(cast).sum().backward()
    wrong = function(torch, lambda g: g[:3].to_sparse())(table(torch)).sum()
    return [told(t.grad) for t in (w, twice, through, cast)], raises(
        "returned an invalid gradient at index 0 - got [3, 2] but expected shape compatible with [4, 2]", wrong.backward
    )


OPTIMIZERS = {
    "SGD": {"lr": 0.1},
    "SGD with momentum": {"lr": 0.1, "momentum": 0.9},
    "SGD with Nesterov's momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "SGD upwards": {"lr": 0.1, "maximize": True},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1},
    "Adagrad upwards": {"lr": 0.1, "maximize": True},
    "SparseAdam": {"lr": 0.1},
    "SparseAdam upwards": {"lr": 0.1, "maximize": True},
}


@pytest.mark.parametrize("what", OPTIMIZERS)
def test_optimizers_that_take_them(what: str) -> None:
    """V-11: parameters and state after three steps that look up different rows."""

    def program(torch: Any) -> Any:
        w = table(torch)
        optimizer = getattr(torch.optim, what.split()[0])([w], **OPTIMIZERS[what])
        for step in range(3):
            optimizer.zero_grad()
            looked_up(torch, w, step, 3, step).sin().sum().backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as in ``sparse``
                optimizer.step()
        state = {name: told(v) if torch.is_tensor(v) else v for name, v in optimizer.state[w].items()}
        return w.detach(), {name: v for name, v in state.items() if v is not None}

    assert_agree(program)


REFUSING = {
    "Adam": "Adam does not support sparse gradients, please consider SparseAdam instead",
    "AdamW": "Adam does not support sparse gradients, please consider SparseAdam instead",
    **{
        name: f"{name} does not support sparse gradients"
        for name in ("Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "ASGD", "Adadelta", "Adafactor", "Muon")
    },
}


@differential
def test_optimizers_that_refuse_them(torch: Any) -> Any:
    """V-11: the others say so before anything is updated; so do settings that do not go together."""
    seen: list[Any] = []
    for name, text in REFUSING.items():
        free, w = torch.ones(2, 2, requires_grad=True), table(torch)
        optimizer = getattr(torch.optim, name)([free, w])
        (looked_up(torch, w).sum() + free.sum()).backward()
        seen += [raises(text, optimizer.step), free.detach()]
    w = table(torch)
    looked_up(torch, w).sum().backward()
    optim = torch.optim
    dense = torch.ones(2, requires_grad=True)
    dense.sum().backward()
    return [*seen, raises("Use add(dense, sparse) instead", optim.SGD([w], lr=0.1, weight_decay=0.1).step),
            raises("`_fused_sgd` does not support sparse gradients", optim.SGD([w], lr=0.1, fused=True).step),
            raises("not compatible with sparse gradients", optim.Adagrad([w], weight_decay=0.1).step),
            raises("SparseAdam does not support dense gradients", optim.SparseAdam([dense]).step),
            raises("Sparse params at indices [[0, 0]]", optim.SparseAdam, [torch.eye(2).to_sparse()])]  # fmt: skip


@pytest.mark.parametrize("dense", [False, True])
def test_zero_grad_writes_zeros(dense: bool) -> None:
    """V-11: without ``set_to_none`` the gradient stays the same tensor and is 0, also where it was NaN."""

    def program(torch: Any) -> Any:
        net = torch.nn.Embedding(4, 2, sparse=not dense)
        seen = []
        for holder in (net, torch.optim.SGD(net.parameters(), lr=0.1)):
            (net(torch.tensor([1])) * float("nan")).sum().backward()
            before = net.weight.grad
            holder.zero_grad(set_to_none=False)
            seen.append([told(net.weight.grad), net.weight.grad is before])
        return seen

    assert_agree(program)


@differential
def test_what_programs_do_with_them(torch: Any) -> Any:
    """V-11: manual steps, scaling, norms, clipping, copies, and what is not there for sparse tensors."""
    w = table(torch)
    looked_up(torch, w).cos().sum().backward()
    g = w.grad
    clip = torch.nn.utils.clip_grad_norm_
    seen = [repr(g), told(copy.deepcopy(g)), told(copy.deepcopy(w).grad), told(pickle.loads(pickle.dumps(g))),
            told(g.coalesce()), told(torch.isnan(g)), g.norm(), told(g.abs()), g[1], g.sum(),
            raises("'aten::linalg_vector_norm' with arguments from the 'SparseCPU'", clip, [w], 1.0)]  # fmt: skip
    with torch.no_grad():
        w -= 0.1 * g
        w.data.add_(g, alpha=-0.1)
    g.div_(2)
    g *= 3
    return [*seen, w.detach(), told(w.grad), g._version]


@differential
def test_anomaly_mode(torch: Any) -> Any:
    """V-11: anomaly mode looks at the entries."""
    w = table(torch)
    with torch.autograd.set_detect_anomaly(True):
        looked_up(torch, w).sum().backward()
        spoilt = (looked_up(torch, w * 1) * float("nan")).sum()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the forward call was
            refused = raises("returned nan values in its 0th output", spoilt.backward)
    return told(w.grad), refused
