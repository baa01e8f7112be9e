"""Rules read as formulas: rules that call each other end, nobody's profiler is lost, and short ways give the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.core.registry import OPS
from retrograd.engine.generated.row_node_source import rule_formula

torch = pytest.importorskip("torch")

PROGRAM = """
import sys
import retrograd as rg
from retrograd.engine.core.registry import OPS
from retrograd.engine.generated.row_node_source import rule_formula

def watch(frame, event, argument):
    pass

x = rg.ones(3, requires_grad=True)
sys.setprofile(watch)
rg.sin(x).sum().backward()
print(sys.getprofile() is watch, x.grad.tolist() == rg.cos(x).tolist())
sys.setprofile(None)
for name in ("sin", "cos", "sinh", "cosh"):
    formula, _ = rule_formula(OPS[name], "self")
    print(name, [step.function for step in formula.steps])
"""


def test_rules_that_call_each_other_are_read_once() -> None:
    """sin's rule calls cos, whose rule calls sin: reading one must not make the other's node, and so on for ever."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True)

    assert ended.stdout.splitlines() == [
        "True True",
        "sin ['cos', 'multiply']",
        "cos ['sin', 'negative', 'multiply']",
        "sinh ['cosh', 'multiply']",
        "cosh ['sinh', 'multiply']",
    ]


def test_products_of_matrices_are_formulas_where_factors_are_one() -> None:
    """The reverse rules of ``mm``, ``bmm`` and ``addmm`` read as NumPy calls; with factors they stay rules."""
    found = {}
    for name, operand in (("mm", "self"), ("bmm", "mat2"), ("addmm", "mat2")):
        formula, assumed = rule_formula(OPS[name], operand)
        assert formula is not None
        found[name] = [step.function for step in formula.steps], assumed
    assert found["mm"] == (["mT", "matrix_product"], {"self_by_columns": False})
    assert found["bmm"] == (["mT", "matmul"], {})
    assert found["addmm"] == (["mT", "matrix_product"], {"alpha": 1, "mat2_by_columns": False})

    formula, assumed = rule_formula(OPS["mm"], "mat2", by_columns=True)
    assert formula is not None
    assert [step.function for step in formula.steps] == ["mT", "matrix_product", "mT"]
    assert assumed == {"mat2_by_columns": True}


def _names_from(node: Any) -> list[str]:
    """Names of the first nodes behind one, along the first edges."""
    names: list[str] = []
    while node is not None and len(names) < 3:
        names.append(node.name().rstrip("01"))  # whether a factor is a number shows in PyTorch only
        node = node.next_functions[0][0] if node.next_functions else None
    return names


PRODUCTS: dict[str, Callable[..., Any]] = {
    "right": lambda t, x, w, b: x @ w.t(),
    "left": lambda t, x, w, b: w @ x.t(),
    "both": lambda t, x, w, b: x.t().contiguous().t() @ w.t(),
    "linear": lambda t, x, w, b: t.nn.functional.linear(x, w, b),
    "factors": lambda t, x, w, b: t.addmm(b, x, w.t(), beta=2, alpha=3),
    "scalar rows": lambda t, x, w, b: x[:1] @ w[:, :1].t().expand(4, 3),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_gradients_of_factors_are_laid_out_as_the_factors(name: str, dtype: str) -> None:
    """A matrix that is given transposed gets a gradient by rows, by PyTorch's nodes: nothing has to be turned round."""
    told = []
    for t in (torch, rg):
        w = t.from_numpy(np.arange(12).reshape(3, 4).astype(dtype) / 7).requires_grad_()
        x = t.from_numpy(np.arange(8).reshape(2, 4).astype(dtype) / 5).requires_grad_()
        b = t.from_numpy(np.ones(3, dtype)).requires_grad_()
        squares = [PRODUCTS[name](t, x, w, b) ** 2 for _ in range(3)]
        seeds = [t.ones_like(y) for y in squares]
        recorded = t.autograd.grad(squares[0], [w, x], seeds[0], create_graph=True)
        bare = t.autograd.grad(squares[1], [w, x], seeds[1])
        squares[2].backward(seeds[2])
        told.append([
            ([_names_from(g.grad_fn)[:2] for g in recorded] if dtype == "float32" else None),
            *[(tuple(g.stride()), g.detach().numpy().round(3).tolist()) for g in (*recorded, *bare, w.grad, x.grad)],
        ])  # fmt: skip
    assert told[0] == told[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (1, 0.5), (2.0, 1), (0, 3)])
def test_addmm_agrees_with_torch(dtype: str, beta: float, alpha: float) -> None:
    """Values and gradients, with factors that the formulas assume and with others."""
    rng = np.random.default_rng(3)
    shapes = ((4,), (3, 5), (5, 4), (3, 4))
    arrays = [
        (rng.normal(size=s) + (1j * rng.normal(size=s) if "complex" in dtype else 0)).astype(dtype) for s in shapes
    ]
    results = []
    for engine in (rg, torch):
        bias, a, b, g = (engine.from_numpy(x.copy()) for x in arrays)
        leaves = [t.requires_grad_() for t in (bias, a, b)]
        out = engine.addmm(bias, a, b, beta=beta, alpha=alpha)
        out.backward(g)
        results.append([out.detach().numpy(), *[t.grad.numpy() for t in leaves]])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


def test_gradients_that_wait_at_a_leaf_are_its_own() -> None:
    """A leaf takes the array that arrives only if nobody else holds it: the program's own tensor stays apart."""
    x = rg.ones(3, requires_grad=True)
    g = rg.full((3,), 2.0)
    (x + 0).backward(g)
    x.clone().backward(g)
    g.zero_()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    y = rg.ones(3, requires_grad=True)
    h = rg.full((3,), 2.0)
    y.backward(h)
    h.zero_()
    assert y.grad is not None
    assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_large_writes_in_place_are_those_of_whole_arrays() -> None:
    """``sub_`` in pieces gives the bits of NumPy's expression, also for parts of arrays and the tensor itself."""
    rng = np.random.default_rng(5)
    values, slope = (rng.normal(size=(300, 401)).astype("f4") for _ in range(2))
    for cut in (slice(None), slice(1, None), slice(None, None, 2)):
        t, g = rg.from_numpy(values.copy()), rg.from_numpy(slope.copy())
        t[cut].sub_(g[cut], alpha=0.3)
        wanted = values.copy()
        wanted[cut] -= np.float32(0.3) * slope[cut]
        np.testing.assert_array_equal(t.numpy(), wanted)
    t = rg.from_numpy(values.copy())
    t.add_(t, alpha=0.3)
    np.testing.assert_array_equal(t.numpy(), values + np.float32(0.3) * values)


@pytest.mark.parametrize("case", ["dtype", "more dimensions", "size"])
def test_addmm_refuses_what_torch_refuses(case: str) -> None:
    """A bias of another dtype, or larger than the product."""
    said = []
    for engine in (rg, torch):
        bias = {"dtype": engine.arange(2), "more dimensions": engine.ones(4, 2, 2), "size": engine.ones(5)}[case]
        with pytest.raises(RuntimeError) as error:
            engine.addmm(bias, engine.ones(2, 3), engine.ones(3, 2))
        said.append(str(error.value))
    phrase = {"dtype": "same dtype, but got Long and Float", "more dimensions": "the number of sizes provided (2)",
              "size": "The expanded size of the tensor (2) must match the existing size (5)"}[case]  # fmt: skip
    assert phrase in said[0]
    assert phrase in said[1]
