"""F-50: within ``vmap`` a window on memory (``as_strided``) is one on each entry, its offset that of the first one."""

from __future__ import annotations

import importlib
from typing import Any

from both_engines import differential, raises

OUTSIDE = "can access memory outside of `tensor`"


def func(torch: Any) -> Any:
    """The module of one engine."""
    return importlib.import_module(f"{torch.__name__}.func")


def matrix(torch: Any) -> Any:
    """A batch of three entries."""
    return torch.arange(12.0).reshape(3, 4)


def window(t: Any) -> Any:
    """The squares of the second and third element."""
    return t.as_strided((2,), (1,), 1) ** 2


def overlapping(t: Any) -> Any:
    """The same, each element but the ends seen twice."""
    return t.as_strided((2, 2), (1, 1), 1) ** 2


@differential
def test_each_entry_has_a_window_of_its_own(torch: Any) -> Any:
    """F-50: whatever dimension the batch is, wherever it begins, through views, aliases and nested batches."""
    vmap, x, cube = func(torch).vmap, matrix(torch), torch.arange(24.0).reshape(2, 3, 4)
    part = torch.arange(24.0).reshape(4, 6)[1:, 1:5]
    square = x[:, :3]
    return [
        *[vmap(lambda r, at=at: r.as_strided((2,), (1,), at))(x) for at in (None, 0, 1, 2)],
        *[vmap(lambda r, at=at: r.as_strided((2,), (4,), at), in_dims=1)(x) for at in (None, 0, 2, 4)],
        *[vmap(lambda r, at=at: r.as_strided((2,), (1,), at))(part) for at in (None, 7, 9)],
        vmap(lambda r: r[1:].as_strided((2,), (1,), 2))(x),
        vmap(lambda r: r.detach().as_strided((2,), (1,), 2))(x),
        vmap(lambda r: (r * 2)[1:].as_strided((2,), (1,), 1))(x),
        vmap(lambda r: r.as_strided((2,), (1,), r.storage_offset() + 1))(part),
        vmap(lambda r: torch.as_strided_copy(r, (2,), (1,), 1), out_dims=1)(x),
        vmap(lambda r: torch.view_as_real(r).as_strided((2,), (1,), 2))(torch.complex(x, x + 1)),
        vmap(lambda r: r.view(torch.int16).as_strided((2,), (1,), 2))(x.int()),
        vmap(lambda r: r.as_strided((2,), (1,), 1))(torch.arange(4.0).expand(3, 4)),
        vmap(lambda r, s: r.as_strided((2,), (1,), 1) + s.as_strided((2,), (4,), 1), in_dims=(0, 1))(square, square),
        vmap(vmap(lambda r: r.as_strided((2,), (1,), 1)), in_dims=1)(cube),
        vmap(vmap(lambda r: r.as_strided((2,), (4,), 1), in_dims=1))(cube),
        vmap(lambda r: vmap(lambda q: q.as_strided((2,), (1,), 1))(r * 1))(cube),
    ]


@differential
def test_a_view_of_another_dtype_begins_where_its_memory_does(torch: Any) -> Any:
    """Its offset counts elements of its own size, also where nobody asked for the offset before."""
    x = matrix(torch)
    return [torch.tensor(x[1].view(torch.int16).storage_offset()), x[2].view(torch.int32).as_strided((2,), (1,), 1)]


@differential
def test_derivatives_of_windows_on_entries(torch: Any) -> Any:
    """F-50: reverse and forward mode, above and beneath ``vmap``, once and twice; writes through windows."""
    f, x = func(torch), matrix(torch)
    found = []
    for g in (window, overlapping):
        found += [
            f.grad(lambda a, g=g: f.vmap(g)(a).sum())(x),
            f.vmap(f.grad(lambda r, g=g: g(r).sum()))(x),
            f.vmap(f.grad(lambda q, g=g: f.grad(lambda r: (g(r) ** 2).sum())(q).sum()))(x),
            *f.jvp(f.vmap(g), (x,), (x + 1,)),
            *f.vmap(lambda r, g=g: f.jvp(g, (r,), (r + 1,)))(x),
            f.vmap(f.jacfwd(g))(x),
        ]
    leaf = x.clone().requires_grad_()

    def tripled(r: Any) -> Any:
        r = r * 1
        r.as_strided((2,), (1,), 1).mul_(3)
        return r

    f.vmap(tripled)(leaf).sum().backward()
    return [*found, leaf.grad]


@differential
def test_windows_beyond_an_entry_are_refused(torch: Any) -> Any:
    """F-50: before it, behind it, on one without elements; ``chunk_size``: offsets begin anew with each chunk."""
    vmap, x = func(torch).vmap, matrix(torch)
    return [
        *[raises(OUTSIDE, vmap(lambda r, at=at: r.as_strided((2,), (1,), at)), x) for at in (3, -1, 100)],
        raises("in range [1, 3], but `tensor` can only access some memory in range [4, 8]",
               vmap(lambda r: vmap(lambda q: q.as_strided((2,), (1,), 1))(r[1:])), torch.arange(24.0).reshape(2, 3, 4)),
        raises("`tensor` has no storage", vmap(lambda r: r.as_strided((1,), (1,), 0)), torch.zeros(3, 0)),
        raises("in range [2, 4], but `tensor` can only access some memory in range [8, 12]",
               vmap(lambda r: r.as_strided((2,), (1,), 2), chunk_size=2), x),
    ]  # fmt: skip
