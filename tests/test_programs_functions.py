"""Whole programs around custom Functions, on both engines: losses, gradients and gradient checks agree."""

from __future__ import annotations

from both_engines import differential
from program_data import data, layers, perceptron, weight


@differential
def test_straight_through_estimator(torch):
    "Rounding in forward, identity in backward, once by detach and once by a Function."

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    x = weight(torch, 0, 6, scale=3)
    by_detach = x + (x.round() - x).detach()
    (by_detach**2).sum().backward()
    first = x.grad.clone()
    x.grad = None
    (Round.apply(x) ** 2).sum().backward()
    return [first, x.grad, by_detach]


@differential
def test_function_with_double_backward(torch):
    "A swish Function whose backward is a Function with a backward of its own."

    class SwishGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, g):
            s = torch.sigmoid(x)
            ctx.save_for_backward(x, s, g)
            return g * s * (1 + x * (1 - s))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, gg):
            x, s, g = ctx.saved_tensors
            slope = s * (1 - s)
            second = slope * (2 + x * (1 - 2 * s))
            return gg * g * second, gg * s * (1 + x * (1 - s))

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, g):
            return SwishGradient.apply(ctx.saved_tensors[0], g)

    x = weight(torch, 0, 5)
    (g,) = torch.autograd.grad(Swish.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    checks = [torch.autograd.gradcheck(Swish.apply, x), torch.autograd.gradgradcheck(Swish.apply, x)]
    return [g, h, checks, h.requires_grad]


@differential
def test_reversal_layer(torch):
    "Domain-adversarial training: the gradient changes its sign on the way to the features."

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -ctx.strength * g, None

    features, label, domain = layers(torch, 3, 4), layers(torch, 4, 1, seed=20), layers(torch, 4, 1, seed=30)
    h = perceptron(torch, data(torch, 0, 6, 3), features)
    loss = perceptron(torch, h, label).pow(2).mean() + perceptron(torch, Reverse.apply(h, 0.3), domain).sigmoid().mean()
    loss.backward()
    return [loss, [p.grad for p in features + label + domain]]


@differential
def test_memory_saving_function(torch):
    "A Function that keeps a mask instead of its input, and recomputes the rest in backward."

    class Block(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            h = x @ w
            ctx.save_for_backward(x, w, h > 0)
            ctx.mark_non_differentiable(mask := h > 0)
            return h.clamp(min=0), mask

        @staticmethod
        def backward(ctx, g, _):
            x, w, mask = ctx.saved_tensors
            inner = g * mask
            need_x, need_w = ctx.needs_input_grad
            return inner @ w.t() if need_x else None, x.t() @ inner if need_w else None

    x, w = data(torch, 0, 5, 3), weight(torch, 1, 3, 4)
    out, mask = Block.apply(x, w)
    second, _ = Block.apply(out, weight(torch, 2, 4, 2))
    second.sum().backward()
    return [out, mask, w.grad, mask.requires_grad, second.grad_fn]


@differential
def test_ode_solver_with_adjoint(torch):
    "Euler steps through a Function whose backward integrates the adjoint, against the gradient through all steps."

    def field(z, w):
        return torch.tanh(z @ w)

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, w):
            states = [z]
            for _ in range(5):
                states.append(states[-1] + 0.1 * field(states[-1], w))
            ctx.save_for_backward(w, *states[:-1])
            return states[-1]

        @staticmethod
        def backward(ctx, g):
            w, *states = ctx.saved_tensors
            total = torch.zeros_like(w)
            for z in reversed(states):
                with torch.enable_grad():
                    z, v = z.detach().requires_grad_(), w.detach().requires_grad_()
                    step = z + 0.1 * field(z, v)
                g, gw = torch.autograd.grad(step, (z, v), g)
                total += gw
            return g, total

    z, w = weight(torch, 0, 2, 3), weight(torch, 1, 3, 3)
    by_adjoint = torch.autograd.grad(Solve.apply(z, w).pow(2).sum(), (z, w))
    plain = z
    for _ in range(5):
        plain = plain + 0.1 * field(plain, w)
    through = torch.autograd.grad(plain.pow(2).sum(), (z, w))
    return [list(by_adjoint), [torch.allclose(a, b) for a, b in zip(by_adjoint, through, strict=True)]]


@differential
def test_implicit_layer_with_hooks(torch):
    "A fixed point found without recording; the gradient is solved for in a hook, by another fixed point."
    w, x = weight(torch, 0, 3, 3, scale=0.2), weight(torch, 1, 3)
    with torch.no_grad():
        z = torch.zeros(3, dtype=torch.float64)
        for _ in range(40):
            z = torch.tanh(z @ w + x)
    z = z.requires_grad_()
    again = torch.tanh(z @ w + x)
    start = z.detach().requires_grad_()
    step = torch.tanh(start @ w + x)

    def solve(g):
        total = g
        for _ in range(40):
            total = torch.autograd.grad(step, start, total, retain_graph=True)[0] + g
        return total

    handle = again.register_hook(solve)
    again.sum().backward()
    handle.remove()
    return [again, w.grad, x.grad]
