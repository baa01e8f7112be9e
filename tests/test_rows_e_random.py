"""SPEC rows E-07 to E-14 on random graphs: order of nodes and hooks, what each sees, and the gradients."""

from __future__ import annotations

import contextlib
import random
import warnings

import pytest
from both_engines import assert_same, plain

import retrograd

GRAPHS = 200


def functions(torch):
    """Custom Functions of two outputs, and one that gives no gradient."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + 1

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y + h, g * x

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    return Two.apply, Nothing.apply


class Program:
    """One random program: a graph, hooks on it, and some runs; the same for every engine it is given."""

    def __init__(self, torch, seed):
        self.torch, self.random = torch, random.Random(seed)
        self.two, self.nothing = functions(torch)
        self.log = []
        self.leaves = [self.leaf(0.5 + i, 1.5 - i) for i in range(self.random.randint(1, 3))]
        self.tensors = list(self.leaves)

    def leaf(self, *values):
        return self.torch.tensor(values, dtype=self.torch.float64, requires_grad=True)

    def pick(self):
        return self.random.choice(self.tensors[-6:] if self.random.random() < 0.7 else self.tensors)

    def grow(self):
        """Add one operation on tensors that exist."""
        kind = self.random.randrange(11)
        x, y = self.pick(), self.pick()
        if kind == 0:
            made = [x * y]
        elif kind == 1:
            made = [x + y]
        elif kind == 2:
            made = [x.sin()]
        elif kind == 3:
            made = [(x * 0.5).tanh()]
        elif kind == 4:
            made = [self.torch.stack(list(reversed(x.unbind())))]
        elif kind == 5:
            made = list(self.two(x, y))
        elif kind == 6:
            made = [x - y * 3]
        elif kind == 7:
            made = [self.nothing(x)]
        elif kind == 8:
            made = [self.torch.cat([x[:1], y[1:]])]
        elif kind == 9:
            made = [(x * 1).mul_(y)]
        else:
            base = x.clone()
            base[0:1].mul_(2)
            made = [base]
        self.tensors.extend(made)

    def note(self, kind, name, *values):
        self.log.append((kind, name, [plain(v) for v in values]))

    def watch(self):
        """Attach hooks of random kinds to random tensors."""
        for i, t in enumerate(self.tensors):
            name, kinds = f"t{i}", [k for k in range(6) if self.random.random() < 0.25]
            node = self.torch.autograd.graph.get_gradient_edge(t).node
            if 0 in kinds:
                t.register_hook(lambda g, name=name: self.note("tensor", name, g))
            if 1 in kinds:
                t.register_hook(lambda g, name=name: self.note("scaled", name, g) or (None if g is None else g * 0.5))
            if 2 in kinds:
                node.register_prehook(lambda g, name=name: self.note("pre", name, *g))
            if 3 in kinds:
                node.register_hook(lambda i, o, name=name: self.note("post", name, *o, *i))
            if 4 in kinds and not t.is_leaf:
                t.retain_grad()
            if 5 in kinds and t.is_leaf:
                t.register_post_accumulate_grad_hook(lambda t, name=name: self.note("stored", name, t.grad))
        some = self.random.sample(self.tensors[:-1], min(3, len(self.tensors) - 1))
        register = self.torch.autograd.graph.register_multi_grad_hook
        if some and self.random.random() < 0.5:
            register(some, lambda grads: self.note("all", "", *grads))

    def run(self):
        """Run backward or grad in a random way; the result in plain values."""
        total = (self.random.choice(self.tensors[-3:]) * self.tensors[-1]).sum()
        inner = [t for t in self.tensors if not t.is_leaf] or self.tensors
        way = self.random.randrange(5)
        options = {"retain_graph": True}
        if way == 0:
            total.backward(**options)
        elif way == 1:
            total.backward(inputs=self.random.sample(self.tensors, self.random.randint(1, 2)), **options)
        elif way == 2:
            self.note(
                "grad", "", *self.torch.autograd.grad(total, self.pick_inputs(inner), allow_unused=True, **options)
            )
        elif way == 3:
            self.second_derivatives(total)
        else:
            roots = self.random.sample(self.tensors, min(2, len(self.tensors)))
            self.torch.autograd.backward(roots, [self.torch.ones(2, dtype=self.torch.float64)] * len(roots), **options)
        self.note("way", str(way))

    def second_derivatives(self, total):
        grad, unused = self.torch.autograd.grad, {"allow_unused": True}
        first = [g for g in grad(total, self.leaves, create_graph=True, **unused) if g is not None and g.requires_grad]
        self.note("first", "", *first)
        if first:
            self.note("second", "", *grad([g.sum() for g in first], self.leaves, retain_graph=True, **unused))

    def pick_inputs(self, inner):
        return self.random.sample(inner, self.random.randint(1, min(3, len(inner))))

    def play(self):
        """Everything; returns the log and all gradients."""
        with self.mode():
            for _ in range(self.random.randint(3, 14)):
                self.grow()
            if self.random.random() < 0.8:  # else the graph runs without any hook
                self.watch()
            for _ in range(3):
                try:
                    self.run()
                except RuntimeError as error:
                    self.note("error", str(error)[:40])
        grads = [t.grad if t.is_leaf or t.retains_grad else None for t in self.tensors]
        return self.split_log(), plain(grads), [n.name() for n in (t.grad_fn for t in self.tensors) if n]

    def mode(self):
        """Something that is switched on while the program runs, or nothing."""
        ag, packed = self.torch.autograd, []

        def pack(t):
            packed.append(t.detach().clone())
            return len(packed) - 1

        nothing, graph = contextlib.nullcontext, ag.graph
        makers = (
            nothing, nothing, nothing, lambda: ag.set_detect_anomaly(True, check_nan=False),
            lambda: graph.save_on_cpu(pin_memory=True), lambda: graph.saved_tensors_hooks(pack, lambda i: packed[i]),
            graph.allow_mutation_on_saved_tensors,
        )  # fmt: skip
        return self.random.choice(makers)()

    def split_log(self):
        """Interior events in order; those of leaves each in its own list, since their order is not specified."""
        leaf_names = {f"t{i}" for i in range(len(self.leaves))}
        interior = [e for e in self.log if e[1] not in leaf_names]
        return [interior] + [[e for e in self.log if e[1] == name] for name in sorted(leaf_names)]


@pytest.mark.parametrize("start", range(0, GRAPHS, 25))
def test_random_graphs_with_hooks(start):
    """E-11, E-08, E-10, E-12, E-14: the same events with the same values, in the same order, on both engines."""
    torch = pytest.importorskip("torch")
    for seed in range(start, start + 25):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # anomaly mode tells of the errors that some runs end with
            wanted, found = Program(torch, seed).play(), Program(retrograd, seed).play()
        assert_same(plain(wanted), plain(found), f"\n  seed {seed}")
