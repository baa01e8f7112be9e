"""Whole programs about derivatives themselves, on both engines: higher orders, forward mode, hooks, modes."""

from __future__ import annotations

import importlib

import pytest
from both_engines import differential, raises, warned
from program_data import data, layers, perceptron, weight


@differential
def test_gradient_penalty(torch):
    "The norm of the input gradient is part of the loss."
    critic = layers(torch, 3, 6, 1)
    x = data(torch, 0, 7, 3).requires_grad_()
    score = perceptron(torch, x, critic)
    (g,) = torch.autograd.grad(score, x, torch.ones_like(score), create_graph=True)
    loss = score.mean() + 10 * ((g.norm(2, dim=1) - 1) ** 2).mean()
    loss.backward()
    return [loss, g.detach(), [p.grad for p in critic], x.grad]


@differential
def test_hessian_vector_products(torch):
    "By double backward, by the double-backward trick, and by forward over reverse."
    parameters = layers(torch, 3, 4, 1)
    x, y = data(torch, 0, 6, 3), data(torch, 1, 6, 1)
    vectors = [data(torch, 80 + i, *p.shape) for i, p in enumerate(parameters)]

    def gradient(ps):
        return torch.autograd.grad(((perceptron(torch, x, ps) - y) ** 2).mean(), ps, create_graph=True)

    grads = gradient(parameters)
    inner = sum((g * v).sum() for g, v in zip(grads, vectors, strict=True))
    reverse = torch.autograd.grad(inner, parameters)
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        duals = [fw.make_dual(p, v) for p, v in zip(parameters, vectors, strict=True)]
        forward = [fw.unpack_dual(g).tangent.detach() for g in gradient(duals)]
    return [list(reverse), [torch.allclose(a, b) for a, b in zip(reverse, forward, strict=True)]]


@differential
def test_meta_learning(torch):
    "Two inner gradient steps per task; the outer gradient goes through them."
    start = layers(torch, 1, 5, 1)
    outer = 0
    for task in range(3):
        x, amplitude = data(torch, task, 6, 1), 1.0 + task
        y = amplitude * torch.sin(x)
        fast = start
        for _ in range(2):
            loss = ((perceptron(torch, x[:3], fast) - y[:3]) ** 2).mean()
            grads = torch.autograd.grad(loss, fast, create_graph=True)
            fast = [p - 0.1 * g for p, g in zip(fast, grads, strict=True)]
        outer = outer + ((perceptron(torch, x[3:], fast) - y[3:]) ** 2).mean()
    outer.backward()
    return [outer, [p.grad for p in start]]


@differential
def test_first_order_meta_learning(torch):
    "The same without create_graph: inner gradients are constants."
    start = layers(torch, 1, 5, 1)
    x = data(torch, 0, 6, 1)
    fast = [p.clone() for p in start]
    for _ in range(2):
        grads = torch.autograd.grad((perceptron(torch, x, fast) ** 2).mean(), fast)
        fast = [p - 0.1 * g for p, g in zip(fast, grads, strict=True)]
    (perceptron(torch, x, fast) ** 2).mean().backward()
    return [p.grad for p in start]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_perceptron(reentrant):
    """Layers recomputed in backward give the gradients of the plain perceptron, on both engines."""

    @differential
    def program(torch):
        checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint
        parameters, calls = layers(torch, 3, 5, 5, 1), []

        def layer(x, w, b):
            calls.append(1)
            return torch.tanh(x @ w + b)

        x = data(torch, 0, 6, 3).requires_grad_()
        h = x
        for i in (0, 2):
            h = checkpoint(layer, h, *parameters[i : i + 2], use_reentrant=reentrant)
        loss = (h @ parameters[4] + parameters[5]).pow(2).mean()
        before = len(calls)
        loss.backward()
        return [loss, before, len(calls), x.grad, [p.grad for p in parameters]]

    program()


@differential
def test_directional_derivatives(torch):
    "Forward mode along a basis gives the rows that reverse mode gives."
    fw = torch.autograd.forward_ad
    parameters = [p.detach() for p in layers(torch, 3, 4, 2)]
    x = data(torch, 0, 3)
    columns = []
    with fw.dual_level():
        for direction in torch.eye(3, dtype=torch.float64):
            out = perceptron(torch, fw.make_dual(x, direction), parameters)
            columns.append(fw.unpack_dual(out).tangent)
    forward = torch.stack(columns, 1)
    leaf = x.clone().requires_grad_()
    out = perceptron(torch, leaf, parameters)
    reverse = torch.stack([torch.autograd.grad(o, leaf, retain_graph=True)[0] for o in out])
    return [forward, torch.allclose(forward, reverse)]


@differential
def test_jacobian_and_hessian(torch):
    "The functional interface on a small net, with several inputs."
    functional = torch.autograd.functional
    w, b = weight(torch, 0, 3, 2).detach(), weight(torch, 1, 2).detach()
    x = data(torch, 2, 3)

    def net(x, w, b):
        return torch.tanh(x @ w + b)

    jacobian = functional.jacobian(net, (x, w, b))
    hessian = functional.hessian(lambda x, w: net(x, w, b).pow(2).sum(), (x, w))
    _, product = functional.vjp(net, (x, w, b), torch.ones(2, dtype=torch.float64))
    _, directional = functional.jvp(net, (x, w, b), (x, w, b))
    return [list(jacobian), [list(row) for row in hessian], list(product), directional]


@differential
def test_physics_informed_residual(torch):
    "The heat equation's residual needs u_t, u_x and u_xx; its square is trained."
    parameters = layers(torch, 2, 8, 1)
    points = data(torch, 0, 10, 2).requires_grad_()
    losses = []
    for _ in range(3):
        u = perceptron(torch, points, parameters)
        (first,) = torch.autograd.grad(u.sum(), points, create_graph=True)
        u_t, u_x = first[:, 0], first[:, 1]
        (second,) = torch.autograd.grad(u_x.sum(), points, create_graph=True)
        residual = u_t - 0.1 * second[:, 1]
        loss = residual.pow(2).mean() + (u - 1).pow(2).mean()
        grads = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g in zip(parameters, grads, strict=True):
                p -= 0.05 * g
        losses.append(loss.item())
    return [losses, list(grads)]


@differential
def test_newton_iteration(torch):
    "Newton's method with second derivatives, and the implicit function theorem at its fixed point."
    a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)

    def f(x):
        return x**3 - a * x - 1

    x = torch.tensor(2.0, dtype=torch.float64)
    for _ in range(8):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(f(x), x)
        x = x - f(x).detach() / slope
    root = x.detach().requires_grad_()
    fx, fa = torch.autograd.grad(f(root), (root, a))
    return [root.detach(), -fa / fx]


@differential
def test_saved_tensor_compression(torch):
    "Saved activations are kept in half precision; gradients are slightly off and the count is right."
    packed = []

    def pack(t):
        packed.append(tuple(t.shape))
        return t.to(torch.float16)

    parameters = layers(torch, 3, 4, 1)
    x = data(torch, 0, 5, 3)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.to(torch.float64)):
        loss = perceptron(torch, x, parameters).pow(2).mean()
    loss.backward()
    return [sorted(packed), [p.grad for p in parameters]]


@differential
def test_multi_grad_hooks(torch):
    "A hook that waits for all gradients, and one that fires at the first."
    log = []
    parameters = layers(torch, 3, 4, 1)
    hook = torch.autograd.graph.register_multi_grad_hook
    everything = hook(parameters, lambda grads: log.append(["all", [None if g is None else g.sum() for g in grads]]))
    first = hook(parameters, lambda g: log.append(["any", g.sum()]), mode="any")
    for _ in range(2):
        perceptron(torch, data(torch, 0, 5, 3), parameters).pow(2).mean().backward()
    everything.remove()
    first.remove()
    torch.autograd.grad(perceptron(torch, data(torch, 0, 5, 3), parameters).sum(), parameters[-1])
    return log


@differential
def test_anomaly_mode(torch):
    "A NaN in backward is found, with the name of the function that made it."
    x = torch.tensor([-1.0, 0.0, 4.0], dtype=torch.float64, requires_grad=True)

    def run():
        with torch.autograd.detect_anomaly(check_nan=True):
            out = (x.sqrt().nan_to_num() * torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)).sum()
            return raises("Function 'SqrtBackward0' returned nan values in its 0th output", out.backward)

    categories, kind = warned("Error detected in SqrtBackward0", run)
    return [sorted(set(categories)), kind]


@differential
def test_frozen_layers_and_partial_backward(torch):
    "requires_grad_ off for the first layer, inputs= for the rest, and no gradient elsewhere."
    parameters = layers(torch, 3, 4, 1)
    for p in parameters[:2]:
        p.requires_grad_(False)
    loss = perceptron(torch, data(torch, 0, 5, 3), parameters).pow(2).mean()
    loss.backward(inputs=[parameters[2]])
    return [[p.grad for p in parameters], loss.grad_fn]


@differential
def test_influence_by_unrolling(torch):
    "A learning rate learned through three unrolled steps."
    x, y = data(torch, 0, 8, 2), data(torch, 1, 8)
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    w = weight(torch, 2, 2)
    for _ in range(3):
        (g,) = torch.autograd.grad((x @ w - y).pow(2).mean(), w, create_graph=True)
        w = w - rate * g
    (g,) = torch.autograd.grad((x @ w - y).pow(2).mean(), rate)
    return [g, w]


@differential
def test_fisher_information(torch):
    "Per-sample gradients one by one, and their outer products."
    x, labels = data(torch, 0, 5, 3), [0, 1, 0, 1, 1]
    w = weight(torch, 1, 3, 2)
    fisher = torch.zeros(6, 6, dtype=torch.float64)
    log_p = torch.log_softmax(x @ w, -1)
    for i, label in enumerate(labels):
        (g,) = torch.autograd.grad(log_p[i, label], w, retain_graph=True)
        g = g.reshape(-1)
        fisher += torch.outer(g, g) / 5
    return [fisher, torch.diagonal(fisher).sum()]


@differential
def test_complex_signal(torch):
    "Phases found by gradient descent through complex exponentials."
    phase = weight(torch, 0, 4)
    carrier = torch.arange(6, dtype=torch.float64)[:, None]
    target = torch.exp(1j * carrier * 0.3).sum(1)
    losses = []
    for _ in range(4):
        signal = torch.exp(1j * carrier * phase).sum(1) / 4
        loss = (signal - target).abs().pow(2).mean()
        (g,) = torch.autograd.grad(loss, phase)
        with torch.no_grad():
            phase -= 0.01 * g
        losses.append(loss.item())
    return [losses, g]
