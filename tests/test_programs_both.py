"""Whole programs as people write them, trained on both engines from the same numbers: losses and gradients agree."""

from __future__ import annotations

import math

from both_engines import differential
from program_data import data, layers, perceptron, weight


def _zero(parameters):
    for p in parameters:
        p.grad = None


@differential
def test_linear_regression(torch):
    "Least squares by gradient descent."
    x, true = data(torch, 0, 30, 3), data(torch, 1, 3, 1)
    y = x @ true + 0.1 * data(torch, 2, 30, 1)
    w, b = (
        torch.zeros(3, 1, dtype=torch.float64, requires_grad=True),
        torch.zeros(1, dtype=torch.float64, requires_grad=True),
    )
    losses = []
    for _ in range(20):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad.zero_()
        losses.append(loss.item())
    return [losses, w, b]


@differential
def test_logistic_regression(torch):
    "Binary classification with the stable form of the cross entropy."
    x = data(torch, 0, 40, 4)
    y = (x[:, 0] > 0).to(torch.float64)
    w = weight(torch, 1, 4)
    losses = []
    for _ in range(15):
        z = x @ w
        loss = (torch.clamp(z, min=0) - z * y + torch.log1p(torch.exp(-z.abs()))).mean() + 0.01 * w.pow(2).sum()
        (g,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w.sub_(g, alpha=0.5)
        losses.append(loss.item())
    return [losses, w, ((x @ w > 0) == (y > 0)).to(torch.float64).mean().item()]


@differential
def test_mlp_with_momentum(torch):
    "A perceptron with softmax cross entropy, SGD with momentum and weight decay."
    x, labels = data(torch, 0, 24, 5), torch.arange(24) % 3
    parameters = layers(torch, 5, 8, 3)
    velocity = [torch.zeros_like(p) for p in parameters]
    losses = []
    for _ in range(10):
        logits = perceptron(torch, x, parameters)
        loss = -torch.log_softmax(logits, 1).gather(1, labels.unsqueeze(1)).mean()
        _zero(parameters)
        loss.backward()
        with torch.no_grad():
            for p, v in zip(parameters, velocity, strict=True):
                v.mul_(0.9).add_(p.grad + 1e-3 * p)
                p.add_(v, alpha=-0.1)
        losses.append(loss.item())
    return [losses, parameters]


@differential
def test_mlp_with_adam(torch):
    "Adam written out, with bias correction, in float32."
    x = data(torch, 0, 16, 4, dtype="float32")
    y = torch.sin(x.sum(1, keepdim=True))
    parameters = [p.detach().float().requires_grad_() for p in layers(torch, 4, 6, 1)]
    first = [torch.zeros_like(p) for p in parameters]
    second = [torch.zeros_like(p) for p in parameters]
    losses = []
    for step in range(1, 11):
        loss = (perceptron(torch, x, parameters) - y).square().mean()
        grads = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g, m, v in zip(parameters, grads, first, second, strict=True):
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                denominator = (v / (1 - 0.999**step)).sqrt().add_(1e-8)
                p.addcdiv_(m / (1 - 0.9**step), denominator, value=-0.01)
        losses.append(round(loss.item(), 4))
    return losses


@differential
def test_rnn_with_truncated_bptt(torch):
    "A recurrent network over chunks; the state is detached between them."
    x, y = data(torch, 0, 12, 2, 3), data(torch, 1, 12, 2, 1)
    wx, wh, wo = weight(torch, 2, 3, 4), weight(torch, 3, 4, 4), weight(torch, 4, 4, 1)
    h = torch.zeros(2, 4, dtype=torch.float64)
    losses = []
    for start in range(0, 12, 4):
        h = h.detach()
        loss = 0
        for t in range(start, start + 4):
            h = torch.tanh(x[t] @ wx + h @ wh)
            loss = loss + ((h @ wo - y[t]) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
    return [losses, wx.grad, wh.grad, wo.grad, h.grad_fn]


@differential
def test_lstm_cell(torch):
    "Gates from one matrix product cut by chunk."
    x, w, u = data(torch, 0, 5, 2, 3), weight(torch, 1, 3, 16), weight(torch, 2, 4, 16)
    h = c = torch.zeros(2, 4, dtype=torch.float64)
    for t in range(5):
        i, f, g, o = (x[t] @ w + h @ u).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    h.sum().backward()
    return [h, w.grad, u.grad]


@differential
def test_attention(torch):
    "Two causal heads with a residual connection and layer normalisation by hand."
    x = weight(torch, 0, 2, 5, 8)
    wq, wk, wv, wo = (weight(torch, i, 8, 8) for i in range(1, 5))

    def heads(t):
        return t.reshape(2, 5, 2, 4).transpose(1, 2)

    q, k, v = heads(x @ wq), heads(x @ wk), heads(x @ wv)
    scores = q @ k.transpose(-2, -1) / math.sqrt(4)
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    p = torch.softmax(scores.masked_fill(mask, float("-inf")), -1)
    out = x + (p @ v).transpose(1, 2).reshape(2, 5, 8) @ wo
    out = (out - out.mean(-1, keepdim=True)) / (out.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    (out * data(torch, 9, 2, 5, 8)).sum().backward()
    return [out, x.grad, wq.grad, wk.grad, wv.grad, wo.grad]


@differential
def test_gradient_accumulation(torch):
    "Four small batches give the gradient of the large one."
    x, y = data(torch, 0, 16, 3), data(torch, 1, 16, 1)
    parameters = layers(torch, 3, 4, 1)
    for part in range(4):
        rows = slice(4 * part, 4 * part + 4)
        ((perceptron(torch, x[rows], parameters) - y[rows]) ** 2).mean().div(4).backward()
    sums = [p.grad.clone() for p in parameters]
    whole = torch.autograd.grad(((perceptron(torch, x, parameters) - y) ** 2).mean(), parameters)
    return [sums, all(torch.allclose(a, b) for a, b in zip(sums, whole, strict=True))]


@differential
def test_clipping_by_hooks(torch):
    "Tensor hooks clip what flows back; the total norm is computed afterwards."
    parameters = layers(torch, 3, 5, 1)
    seen = []
    handles = [p.register_hook(lambda g: g.clamp(-0.05, 0.05)) for p in parameters]
    x = data(torch, 0, 10, 3)
    hidden = torch.tanh(x @ parameters[0] + parameters[1])
    hidden.register_hook(lambda g: seen.append(g.norm().item()))
    hidden.retain_grad()
    loss = ((hidden @ parameters[2] + parameters[3] - 3) ** 2).mean()
    loss.backward()
    for handle in handles:
        handle.remove()
    total = torch.stack([p.grad.norm() for p in parameters]).norm()
    return [seen, total, hidden.grad, [p.grad for p in parameters]]


@differential
def test_optimizer_in_post_accumulate_hooks(torch):
    "Each parameter is updated and its gradient freed as soon as it is complete."
    parameters = layers(torch, 3, 5, 1)
    order = []

    def attach(i, p):
        def update(p):
            order.append(i)
            with torch.no_grad():
                p.sub_(p.grad, alpha=0.1)
            p.grad = None

        p.register_post_accumulate_grad_hook(update)

    for i, p in enumerate(parameters):
        attach(i, p)
    x, losses = data(torch, 0, 10, 3), []
    for _ in range(4):
        loss = (perceptron(torch, x, parameters) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
    return [losses, order[:4], [p.grad is None for p in parameters], parameters]


@differential
def test_exponential_moving_average(torch):
    "A teacher that follows the student, whose targets take no gradient."
    student = layers(torch, 3, 4, 2)
    teacher = [p.detach().clone() for p in student]
    x, losses = data(torch, 0, 8, 3), []
    for step in range(5):
        noise = data(torch, 50 + step, 8, 3) * 0.1
        with torch.no_grad():
            target = perceptron(torch, x, teacher)
        loss = (perceptron(torch, x + noise, student) - target).pow(2).mean()
        _zero(student)
        loss.backward()
        with torch.no_grad():
            for p, t in zip(student, teacher, strict=True):
                p -= p.grad
                t.lerp_(p, 0.1)
        losses.append(loss.item())
    return [losses, teacher, [t.requires_grad for t in teacher]]


@differential
def test_weight_tying(torch):
    "An embedding used for input and output gets both gradients."
    table = weight(torch, 0, 6, 4)
    tokens, targets = torch.tensor([0, 3, 3, 5]), torch.tensor([3, 3, 5, 0])
    logits = table[tokens].tanh() @ table.t()
    loss = -torch.log_softmax(logits, -1)[torch.arange(4), targets].mean()
    loss.backward()
    return [loss, table.grad]


@differential
def test_embedding_bag_by_index_add(torch):
    "Rows summed into segments, with a gradient through index_add and index_select."
    rows = weight(torch, 0, 6, 3)
    segment = torch.tensor([0, 0, 1, 2, 2, 2])
    sums = torch.zeros(3, 3, dtype=torch.float64).index_add(0, segment, rows)
    sums.index_select(0, torch.tensor([2, 0])).pow(2).sum().backward()
    return [sums, rows.grad]


@differential
def test_gumbel_softmax(torch):
    "Relaxed samples with given noise, hard in forward and soft in backward."
    logits = weight(torch, 0, 4, 5)
    uniform = data(torch, 1, 4, 5).sigmoid()
    gumbel = -torch.log(-torch.log(uniform))
    soft = torch.softmax((logits + gumbel) / 0.5, -1)
    hard = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
    sample = hard - soft.detach() + soft
    (sample * data(torch, 2, 4, 5)).sum().backward()
    return [sample, logits.grad]


@differential
def test_mixture_density(torch):
    "Negative log likelihood of a mixture of Gaussians through logsumexp."
    x, y = data(torch, 0, 12, 1), data(torch, 1, 12, 1)
    parameters = layers(torch, 1, 6, 9)
    losses = []
    for _ in range(6):
        log_pi, mean, log_sigma = perceptron(torch, x, parameters).split(3, dim=1)
        log_normal = -0.5 * ((y - mean) / log_sigma.exp()) ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
        loss = -torch.logsumexp(torch.log_softmax(log_pi, 1) + log_normal, 1).mean()
        grads = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g in zip(parameters, grads, strict=True):
                p -= 0.05 * g
        losses.append(loss.item())
    return [losses, list(grads)]


@differential
def test_variational_autoencoder(torch):
    "Reparametrised samples with a Kullback-Leibler term."
    x, noise = data(torch, 0, 8, 6), data(torch, 1, 8, 2)
    encoder, decoder = layers(torch, 6, 5, 4), layers(torch, 2, 5, 6, seed=40)
    mean, log_var = perceptron(torch, x, encoder).chunk(2, 1)
    z = mean + torch.exp(0.5 * log_var) * noise
    reconstruction = (perceptron(torch, z, decoder) - x).pow(2).sum(1)
    divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(1)
    loss = (reconstruction + divergence).mean()
    loss.backward()
    return [loss, [p.grad for p in encoder + decoder]]


@differential
def test_in_place_normalisation(torch):
    "Rows normalised in place on a clone, with views and running statistics under no_grad."
    x, running = weight(torch, 0, 6, 4), torch.zeros(4, dtype=torch.float64)
    h = x.clone()
    for row in range(6):
        h[row] -= h[row].mean()
        h[row].div_(h[row].detach().norm() + 1e-3)
    h[:, 0].mul_(2).add_(1)
    with torch.no_grad():
        running.mul_(0.9).add_(h.mean(0), alpha=0.1)
    (h**3).sum().backward()
    return [h, x.grad, running, h._version, h.grad_fn]


@differential
def test_batch_norm_by_hand(torch):
    "Batch statistics take part in the gradient, running statistics do not."
    x, gamma, beta = weight(torch, 0, 8, 3), weight(torch, 1, 3), weight(torch, 2, 3)
    mean, var = x.mean(0), x.var(0, unbiased=False)
    y = (x - mean) * torch.rsqrt(var + 1e-5) * gamma + beta
    y.relu().sum().backward()
    return [y, x.grad, gamma.grad, beta.grad]


@differential
def test_gan_steps(torch):
    "Discriminator and generator in turn; detach keeps the first step out of the generator."
    generator, critic = layers(torch, 2, 4, 3), layers(torch, 3, 4, 1, seed=30)
    log = []
    for step in range(3):
        fake = perceptron(torch, data(torch, 60 + step, 5, 2), generator)
        real = data(torch, 70 + step, 5, 3)
        for p in generator + critic:
            p.grad = None
        d = (
            torch.relu(1 - perceptron(torch, real, critic)).mean()
            + torch.relu(1 + perceptron(torch, fake.detach(), critic)).mean()
        )
        d.backward()
        untouched = [p.grad is None for p in generator]
        with torch.no_grad():
            for p in critic:
                p -= 0.1 * p.grad
        g = -perceptron(torch, fake, critic).mean()
        for p, grad in zip(generator, torch.autograd.grad(g, generator), strict=True):
            p.data.sub_(0.1 * grad)
        log.append([d.item(), g.item(), untouched])
    return [log, generator]


@differential
def test_policy_gradient(torch):
    "Log probabilities weighted by returns, with an entropy bonus."
    states, actions = data(torch, 0, 10, 4), torch.arange(10) % 3
    rewards = data(torch, 1, 10)
    returns = torch.zeros(10, dtype=torch.float64)
    total = 0.0
    for t in reversed(range(10)):
        total = rewards[t] + 0.9 * total
        returns[t] = total
    policy = layers(torch, 4, 5, 3)
    log_p = torch.log_softmax(perceptron(torch, states, policy), -1)
    chosen = log_p.gather(1, actions[:, None]).squeeze(1)
    advantage = (returns - returns.mean()) / returns.std()
    entropy = -(log_p.exp() * log_p).sum(1).mean()
    loss = -(chosen * advantage).mean() - 0.01 * entropy
    loss.backward()
    return [loss, [p.grad for p in policy]]


@differential
def test_graph_convolution(torch):
    "Messages along edges, summed at their targets and normalised by degree."
    source, target = torch.tensor([0, 1, 2, 3, 0]), torch.tensor([1, 2, 3, 0, 2])
    x, w = weight(torch, 0, 4, 3), weight(torch, 1, 3, 2)
    degree = torch.zeros(4, dtype=torch.float64).index_add_(0, target, torch.ones(5, dtype=torch.float64)).clamp(min=1)
    messages = (x @ w)[source]
    out = torch.zeros(4, 2, dtype=torch.float64).index_add(0, target, messages) / degree[:, None]
    out.sigmoid().sum().backward()
    return [out, x.grad, w.grad]


@differential
def test_convolution_by_unfolding(torch):
    "A convolution as matrix product of shifted slices, with max pooling."
    image, kernel = weight(torch, 0, 2, 6, 6), weight(torch, 1, 3, 4)
    patches = torch.stack([image[:, i : i + 5, j : j + 5] for i in range(2) for j in range(2)], dim=-1)
    maps = torch.relu(patches @ kernel.t())[:, :4, :4]
    pooled = maps.reshape(2, 2, 2, 2, 2, 3).amax(dim=(2, 4))
    pooled.sum().backward()
    return [pooled, image.grad, kernel.grad]
