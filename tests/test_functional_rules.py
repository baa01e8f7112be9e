"""Rules that all functions of ``autograd.functional`` share (E-36)."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_agree, outcome

import retrograd

NAMES = ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"]
PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]


def cubes(x: Any) -> Any:
    """A scalar function with a Hessian that is not constant."""
    return (x**3).sum()


def call(torch: Any, name: str, func: Any, inputs: Any, v: Any = None, **options: Any) -> Any:
    """One of the functions, with ``v`` where it takes one."""
    function = getattr(torch.autograd.functional, name)
    return function(func, inputs, v, **options) if name in PRODUCTS else function(func, inputs, **options)


def point(torch: Any, *, tracked: bool = False) -> Any:
    """Three numbers in double precision."""
    return torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=tracked)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_must_be_tensor_or_tuple_e36(name: str) -> None:
    """E-36: a list, a number and a tuple with a number in it are refused as inputs."""
    for bad in (lambda x: [x], lambda x: 3.0, lambda x: (x, 3.0)):
        assert_agree(
            lambda t, bad=bad: call(t, name, cubes, bad(point(t))), phrase="either a Tensor or a tuple of Tensors"
        )


@pytest.mark.parametrize("name", NAMES)
def test_outputs_must_be_tensor_or_tuple_e36(name: str) -> None:
    """E-36: a function that returns a list or a number is refused."""
    for bad in (lambda x: [x.sum()], lambda x: 3.0):
        assert_agree(
            lambda t, bad=bad: call(t, name, bad, point(t)[:1]), phrase="outputs of the user-provided function"
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("tracked", [False, True])
def test_results_have_history_only_on_request_e36(name: str, create_graph: bool, tracked: bool) -> None:
    """E-36: results require grad exactly when create_graph asks for it, whether or not the inputs do."""

    def program(torch: Any) -> Any:
        x = point(torch, tracked=tracked)
        v = None if name == "vjp" else torch.ones(3, dtype=torch.float64)
        return call(torch, name, cubes, x, v, create_graph=create_graph), x.grad

    assert_agree(program)


@pytest.mark.parametrize("name", NAMES)
def test_create_graph_reaches_the_given_tensor_e36(name: str) -> None:
    """E-36: with create_graph the result can be differentiated with respect to the input that was given."""

    def program(torch: Any) -> Any:
        x = point(torch, tracked=True)
        v = None if name == "vjp" else torch.ones(3, dtype=torch.float64)
        result = call(torch, name, cubes, x, v, create_graph=True)
        result = result[1] if name in PRODUCTS else result
        return torch.autograd.grad(result.sum(), x)

    assert_agree(program)


@pytest.mark.parametrize("name", NAMES)
def test_captured_tensors_are_constants_e36(name: str) -> None:
    """E-36: the tensor given as input counts as a constant where the function also captures it from outside."""

    def program(torch: Any) -> Any:
        x = point(torch, tracked=True)
        v = None if name == "vjp" else torch.ones(3, dtype=torch.float64)
        return call(torch, name, lambda y: (y * x * y).sum(), x, v)

    assert_agree(program)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_works_under_no_grad_e36(name: str, create_graph: bool) -> None:
    """E-36: the surrounding no_grad does not stop the differentiation, and is still on afterwards."""

    def program(torch: Any) -> Any:
        x = point(torch, tracked=True)
        v = None if name == "vjp" else torch.ones(3, dtype=torch.float64)
        with torch.no_grad():
            result = call(torch, name, cubes, x, v, create_graph=create_graph)
            return result, torch.is_grad_enabled()

    assert_agree(program)


@pytest.mark.parametrize("name", NAMES)
def test_tuples_in_and_out_e36(name: str) -> None:
    """E-36: a tuple of one input gives tuples of one, a bare tensor a bare tensor."""

    def program(torch: Any) -> Any:
        x, v = point(torch), torch.ones(3, dtype=torch.float64)
        vector = None if name == "vjp" else v
        return call(torch, name, cubes, (x,), vector and (vector,) if vector is None else (vector,))

    assert_agree(program)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("kind", ["constant", "detached", "one unused", "linear", "quadratic"])
def test_strict_mode_e36(name: str, create_graph: bool, kind: str) -> None:
    """E-36: strict mode refuses independence at every order, in PyTorch's words, and accepts what depends."""
    functions = {
        "constant": lambda torch, x, y: torch.ones((), dtype=torch.float64),
        "detached": lambda torch, x, y: (x.detach() * y.detach()).sum(),
        "one unused": lambda torch, x, y: (x**3).sum(),
        "linear": lambda torch, x, y: x.sum() + y.sum(),
        "quadratic": lambda torch, x, y: (x * y).sum(),
    }

    def program(torch: Any) -> Any:
        x, y = point(torch, tracked=True), point(torch, tracked=True)
        v = None if name == "vjp" else (torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64))
        options = {"create_graph": create_graph, "strict": True}
        return call(torch, name, lambda a, b: functions[kind](torch, a, b), (x, y), v, **options)

    found = assert_agree(program)
    if kind in ("constant", "detached"):
        assert "does not require gradients" in found.message
    if found.error:
        assert found.error == "RuntimeError"
        assert "strict mode" in found.message


def test_strict_mode_names_the_input_e36() -> None:
    """E-36: "is independent of input k" has the number of the input that takes no part."""
    for name in NAMES:
        found = assert_agree(
            lambda t, name=name: call(
                t,
                name,
                lambda x, y: cubes(y),
                (point(t), point(t)),
                None if name == "vjp" else (point(t),) * 2,
                strict=True,
            ),
            phrase="input 0",
        )
        assert "not allowed in strict mode" in found.message


def test_strict_jvp_names_the_output_e36() -> None:
    """E-36, E-40: an output that depends on other tensors only is named as the entry of grad_outputs it is."""

    def program(torch: Any) -> Any:
        x, w = point(torch), point(torch, tracked=True)
        return torch.autograd.functional.jvp(lambda x: (x * 2, w * 1), x, x, strict=True)

    assert_agree(program, phrase="independent of entry 1 in the grad_outputs")


def test_grad_stays_untouched_e36() -> None:
    """E-36: no function leaves a ``.grad``, a requires_grad switch or a write behind on its inputs."""
    for name in NAMES:
        x = point(retrograd)
        call(retrograd, name, cubes, x, None if name == "vjp" else point(retrograd))
        assert (x.grad, x.requires_grad, x._version) == (None, False, 0), name


def test_integer_inputs_are_refused_e36() -> None:
    """E-36: inputs must be of a type that can require grad."""
    for name in NAMES:
        assert_agree(lambda t, name=name: call(t, name, cubes, t.ones(3, dtype=t.int64)), phrase="floating point")


def test_errors_of_the_function_pass_e36() -> None:
    """E-36: what the function itself raises comes out as it is, and grad mode is what it was."""
    for name in NAMES:
        found = outcome(lambda t, name=name: call(t, name, lambda x: {}["lost"], point(t)[:1]), retrograd)
        assert found.error == "KeyError"
        assert retrograd.is_grad_enabled()
