"""Rows V-30 and V-35: pieces of tensors of the same shape, whose plan is remembered, are as those of the first."""

from __future__ import annotations

from both_engines import differential, raises

WAYS = (
    lambda t: t.chunk(2, 1),
    lambda t: t.chunk(3, dim=-1),
    lambda t: t.chunk(1, 1),
    lambda t: t.split(3, 1),
    lambda t: t.split([1, 4], 1),
    lambda t: t.split((5, 0), 1),
    lambda t: t.unbind(1),
    lambda t: t.unbind(),
    lambda t: tuple(t),
    lambda t: t[0].unbind(),
)


def _described(torch, t):
    """What is to be seen of pieces, and of the gradient that goes back through all of them but the first."""
    facts = []
    for way in WAYS:
        pieces = way(t)
        facts += [
            pieces,
            [p.grad_fn for p in pieces],
            [p._base is (t._base if t._is_view() else t) for p in pieces],
        ]
        if t.requires_grad:
            total = sum([((k + 2) * p * p).sum() for k, p in enumerate(pieces[1:])], t.sum())
            facts.append(torch.autograd.grad(total, t))
    return facts


@differential
def test_pieces_of_the_same_shape(torch):
    """V-30: the second of a shape, another dtype, no history, a view, one by columns: all as in PyTorch."""
    whole = torch.arange(40.0).reshape(4, 2, 5)
    x = torch.arange(10.0).reshape(2, 5).requires_grad_()
    tensors = [x, x * 2, (x * 2).double(), x.detach(), torch.arange(10).reshape(2, 5), whole[1], (whole * x)[2]]
    tensors += [torch.arange(10.0).reshape(5, 2).t(), (x * 3).t().clone().t()]
    return [_described(torch, t) for t in tensors]


@differential
def test_a_remembered_plan_knows_nothing_of_writes(torch):
    """V-35: versions and what is forbidden belong to each tensor, not to the shape."""
    found = []
    for requires_grad in (True, False, True):
        x = torch.ones(2, 4, requires_grad=requires_grad) * 1
        a, b = x.chunk(2, 1)
        found.append(raises("view", a.mul_, 2) if requires_grad else a.mul_(2))
        x.add_(1)
        found += [x._version, b._version, b]
        if requires_grad:
            found.append(raises("view", torch.sigmoid, b))
    return found


@differential
def test_sizes_that_do_not_fit_are_refused_each_time(torch):
    """V-30: nothing is remembered of calls that fail."""
    x = torch.ones(2, 4, requires_grad=True) * 1
    calls = [(x.chunk, 0, 1), (x.chunk, 2, 5), (x.split, [1, 2], 1), (x.split, 0, 1), (x.unbind, 3)]
    return [raises("", call, *given) for call, *given in (*calls, *calls)]


@differential
def test_more_pieces_than_are_remembered(torch):
    """V-30: rows of a long tensor are the same with a plan that is made each time."""
    x = torch.arange(600.0).reshape(300, 2).requires_grad_()
    twice = [(x * 1).unbind() for _ in range(2)]
    rows = [twice[0][1], twice[1][299]]
    return [rows, len(twice[1]), torch.autograd.grad((rows[0] * rows[1]).sum(), x)]
