"""``torch.func`` within inference and forward mode, and what may not be called beneath a transform."""

from __future__ import annotations

import pytest
from both_engines import differential, raises


def _cubes(x):
    return (x**3).sum()


@differential
def test_derivatives_within_inference_mode(torch):
    """Within inference mode derivatives are those outside of it, of tensors made there and of others."""
    func, plain = torch.func, torch.tensor([1.0, 2.0])
    with torch.inference_mode():
        made = torch.tensor([3.0, 4.0])
        return [
            (
                func.grad(_cubes)(x),
                func.jvp(torch.sin, (x,), (made,)),
                func.vjp(torch.sin, x)[1](made),
                func.jacrev(torch.exp)(x),
                func.hessian(_cubes)(x),
            )
            for x in (plain, made)
        ]


@differential
def test_derivatives_have_tangents(torch):
    """Tangents of the arguments go through a derivative: forward mode over ``grad``, ``jacrev`` and ``vjp``."""
    func, fw, x = torch.func, torch.autograd.forward_ad, torch.tensor([1.0, 2.0])
    with fw.dual_level():
        dual = fw.make_dual(x, torch.tensor([0.5, -1.0]))
        results = (
            func.grad(_cubes)(dual),
            func.jacrev(lambda a: a**3)(dual),
            func.grad(func.grad(lambda a: a**4))(dual[0]),
            func.grad(lambda a: (a**3 * dual).sum())(x),
            func.vjp(torch.exp, x)[1](dual)[0],
            func.grad_and_value(_cubes)(dual)[1],
        )
        return [tuple(fw.unpack_dual(r)) for r in results]


@differential
def test_a_tangent_of_a_gradient_is_differentiable(torch):
    """The tangent of ``grad`` keeps the history of an argument that requires grad."""
    fw, x = torch.autograd.forward_ad, torch.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        gradient = torch.func.grad(_cubes)(fw.make_dual(x, torch.ones(2)))
        return torch.autograd.grad(fw.unpack_dual(gradient).tangent.sum(), x)[0].clone()


@differential
def test_calls_that_a_transform_does_not_allow(torch):
    """``backward``, ``retain_grad`` and ``autograd.functional`` are refused beneath a transform, and fine after one."""
    grad, x = torch.func.grad, torch.tensor([1.0, 2.0])

    def backward(a):
        a.sum().backward()

    def jacobian(a, **options):
        return torch.autograd.functional.jacobian(torch.sin, a, **options).sum()

    refused = (
        raises("backward() called inside a functorch transform", grad(backward), x),
        raises("You are attempting to call Tensor.retain_grad() inside", grad(lambda a: a.retain_grad()), x),
        raises("(or perhaps using torch.autograd.functional.* APIs) inside", grad(jacobian), x),
    )
    leaf = torch.ones(2, requires_grad=True)
    leaf.sum().backward()
    return refused, grad(lambda a: jacobian(a, create_graph=True))(x), leaf.grad, jacobian(x)


@differential
def test_refusals_of_derivatives(torch):
    """What functions and arguments of derivatives must be, in PyTorch's words."""
    func, x = torch.func, torch.tensor([1.0, 2.0])
    pair = (x, x)
    return (
        raises("argnums must be int or Tuple[int, ...], got", func.grad(_cubes, argnums="a"), x),
        raises("argnums elements must be unique, got (0, 0)", func.grad(_cubes, argnums=(0, 0)), x),
        raises("Thing passed to transform API must be Tensor, got <class 'int'>", func.grad(_cubes), 5),
        raises("grad can be implicitly created only for real scalar", func.grad(lambda a: (a * 1j).sum()), x),
        raises("Expected tensors, got unsupported type <class 'str'>", func.vjp, lambda a: (a, "s"), x, has_aux=True),
        raises("vjp(f, *primals): output of function f should be a tuple", func.vjp, lambda a: a, x, has_aux=True),
        raises("expected f(*primals) to return only tensors, got unsupported type", func.vjp, lambda a: 5, x),
        raises("Expected primals to be a tuple", func.jvp, torch.sin, x, (x,)),
        raises("Expected primals to contain at least one Tensor", func.jvp, torch.sin, (), ()),
        raises("Expected primals to only contain Tensors, got <class 'int'>", func.jvp, torch.sin, (5,), (5,)),
        raises("Expected tangents to only contain Tensors", func.jvp, torch.sin, (x,), (None,)),
        raises("to have the same python structure", func.jvp, torch.sin, (x,), pair),
        raises("a forward gradient that has a different size", func.jvp, torch.sin, (x,), (torch.ones(3),)),
        raises("jvp(f, primals, tangents): expected f(*primals)", func.jvp, lambda a: 5, (x,), (x,)),
        raises("`chunk_size` should be greater than 0", func.jacrev, torch.sin, chunk_size=0),
    )


@differential
def test_vmap_without_an_output_dimension(torch):
    """``out_dims=None``: one value for all entries, refused where they differ."""
    vmap, x, y = torch.func.vmap, torch.ones(2, 3) * torch.tensor([[1.0], [2.0]]), torch.ones(3)
    refused = raises("can not return a BatchedTensor when out_dim is None", vmap(lambda a: a * 1, out_dims=None), x)
    return refused, vmap(lambda a: y * 2, out_dims=None)(x)


@differential
def test_returns_of_a_vmap_staticmethod(torch):
    """A Function's ``vmap`` returns outputs and their dimensions, refused where it does not."""

    def function(returned):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x):
                return returned(x)

        return torch.func.vmap(Doubled.apply)

    x = torch.ones(2, 3)
    return (
        raises("to have two returns, an output and out_dims", function(lambda a: a), x),
        raises("Got 3 returns instead", function(lambda a: (a, 0, 0)), x),
        raises("vmap staticmethod returned an incompatible", function(lambda a: (a, (0,))), x),
        raises("must only return Tensors, got type <class 'int'>", function(lambda a: (5, 0)), x),
        function(lambda a: (a, 1))(torch.ones(2, 2)),
    )


@differential
def test_functional_call_refuses(torch):
    """``functional_call``: names given twice or wrong, tied names given different tensors."""
    call, x, b, w = torch.func.functional_call, torch.ones(2), torch.ones(2), torch.zeros(2, 2)
    linear = torch.nn.Linear(2, 2)
    tied = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    both = {"0.weight": w, "1.weight": torch.ones(2, 2)}
    return (
        raises("['bias'] appeared in multiple dictionaries", call, linear, ({"bias": b}, {"bias": b}), x),
        raises("5 is not an instance of torch.Tensor", call, linear, {"weight": 5}, x),
        raises("Linear:\n\tMissing key(s): 'bias', 'weight'.", call, linear, {}, x, strict=True),
        raises("\n\tUnexpected key(s): 'q'.\n\tMissing key(s)", call, linear, {"weight": w, "q": b}, x, strict=True),
        raises("multiple values for keys ['0.weight', '1.weight'], which are tied", call, tied, both, x),
        raises("to be a dict, or a list/tuple of dicts", call, linear, 5, x),
        raises("to be dictionaries", call, linear, [w], x),
        call(tied, {"0.weight": w, "0.bias": b, "1.bias": b}, x, strict=True),
        call(tied, {"0.weight": w, "1.weight": w, "1.bias": b}, x),
        [p.sum().item() == 0 for p in tied.parameters()],
    )


@differential
def test_refused_draws_change_nothing(torch):
    """Random operators in error mode are refused before they write, and the generator stays where it is."""
    torch.manual_seed(3)
    x, start = torch.ones(2, 3), torch.get_rng_state()
    refused = "called random operation while in randomness error mode"
    return (
        raises(refused, torch.vmap(lambda a: a.bernoulli_()), x),
        raises(refused, torch.vmap(lambda a: a + torch.randn(3)), x),
        x,
        torch.equal(torch.get_rng_state(), start),
        torch.rand(2),
    )


@pytest.mark.filterwarnings("ignore:We've integrated functorch")
def test_the_older_functorch() -> None:
    """Modules as functions of their parameters give what ``torch.func.functional_call`` gives, also stacked."""
    import retrograd as rg
    from retrograd.functorch import combine_state_for_ensemble, make_functional, make_functional_with_buffers, vmap

    layers, norm, x = [rg.nn.Linear(2, 3) for _ in range(2)], rg.nn.BatchNorm1d(2).eval(), rg.ones(4, 2)
    function, params = make_functional(layers[0])
    assert rg.equal(function(params, x), layers[0](x))
    (slope,) = rg.func.grad(lambda given: function(given, x).sum())(params)[1:]
    assert slope.tolist() == [4.0] * 3
    normed, params, buffers = make_functional_with_buffers(norm)
    assert rg.equal(normed(params, buffers, x), norm(x))
    assert raises("has buffers", make_functional, norm) == "RuntimeError"
    both, params, buffers = combine_state_for_ensemble(layers)
    assert rg.allclose(vmap(both, (0, 0, None))(params, buffers, x), rg.stack([layer(x) for layer in layers]))
