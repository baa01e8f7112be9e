"""G-24: what hooks on saved tensors are shown of layers and losses that compute in one node."""

from __future__ import annotations

from typing import Any

from both_engines import differential, raises


def _packed(torch: Any, call: Any) -> list[Any]:
    """Shape and dtype of each tensor that a call packs, in order."""
    seen: list[Any] = []

    def pack(t: Any) -> Any:
        seen.append((tuple(t.shape), str(t.dtype).split(".")[-1]))
        return t.clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = call()
    (out * out.detach() * torch.arange(float(out.numel())).reshape(out.shape)).sum().backward()
    return seen


def _norms(torch: Any) -> list[Any]:
    functional = torch.nn.functional
    found: list[Any] = []
    for training in (True, False):
        for affine in (True, False):
            x = (torch.arange(24.0, dtype=torch.float64) % 7).reshape(2, 3, 4).requires_grad_()
            rest = [
                torch.full((3,), 2.0, dtype=torch.float64, requires_grad=True) if affine else None for _ in range(2)
            ]
            running = [torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]
            call = functional.batch_norm, (x, *running, *rest, training)
            found += [
                _packed(torch, lambda call=call: call[0](*call[1])),
                *[None if t is None else t.grad for t in (x, *rest)],
            ]
    x = (torch.arange(24.0, dtype=torch.float64) % 7).reshape(2, 3, 4).requires_grad_()
    return [*found, _packed(torch, lambda: functional.instance_norm(x)), x.grad]


@differential
def test_normalizations(torch: Any) -> Any:
    """G-24: batch and instance norm pack mean and deviation of the batch, which are empty in evaluation."""
    return _norms(torch)


@differential
def test_log_likelihoods(torch: Any) -> Any:
    """G-24: losses over classes pack the sum of the weights of rows; what hooks give back for it is divided by."""
    functional = torch.nn.functional
    found: list[Any] = []
    target = torch.tensor([0, 2])
    for reduction in ("mean", "sum", "none"):
        for weight in (None, torch.tensor([1.0, 2.0, 0.5])):
            for loss in (functional.cross_entropy, functional.nll_loss):
                x = torch.tensor([[0.5, 1.0, -1.0], [0.25, 0.0, 2.0]], requires_grad=True)
                call = loss, {"weight": weight, "reduction": reduction}
                found += [_packed(torch, lambda x=x, call=call: call[0](x, target, **call[1])), x.grad]
    x = torch.zeros(2, 3, 2, 2).requires_grad_()
    found += [_packed(torch, lambda: functional.nll_loss(x, torch.ones(2, 2, 2, dtype=torch.int64))), x.grad]
    y = torch.tensor([[0.5, 1.0, -1.0], [0.25, 0.0, 2.0]], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2 if t.ndim == 0 else t):
        functional.nll_loss(y, target).backward()
    return [*found, y.grad]


@differential
def test_running_statistics_at_backward(torch: Any) -> Any:
    """G-25: in evaluation backward of batch norm reads the running statistics as they are then, versions checked."""
    found: list[Any] = []
    for write in ("data", "in place"):
        norm = torch.nn.BatchNorm1d(3).eval()
        x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]], requires_grad=True)
        out = (norm(x) ** 2).sum()
        (norm.running_var.data if write == "data" else norm.running_var).mul_(4)
        if write == "data":
            out.backward()
            found += [x.grad, norm.weight.grad, norm.bias.grad]
        else:
            found.append(raises("modified by an inplace operation", out.backward))
    return found


@differential
def test_second_gradients_of_batch_norm(torch: Any) -> Any:
    """G-28: the gradient of a gradient is made of what was packed."""
    found: list[Any] = []
    for training in (True, False):
        x = torch.tensor([[1.0, 2.0], [0.5, 5.0], [0.0, 1.0]], dtype=torch.float64, requires_grad=True)
        running = torch.zeros(2, dtype=torch.float64), torch.full((2,), 2.0, dtype=torch.float64)
        with torch.autograd.graph.save_on_cpu():
            out = torch.nn.functional.batch_norm(x, *running, training=training)
        (g,) = torch.autograd.grad((out**3).sum(), x, create_graph=True)
        found += [g.detach(), torch.autograd.grad((g**2).sum(), x)[0]]
    return found


def _spd(torch: Any) -> Any:
    return torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], dtype=torch.float64, requires_grad=True)


def _ramp(torch: Any, *shape: int) -> Any:
    count = 1
    for n in shape:
        count *= n
    return ((torch.arange(float(count), dtype=torch.float64) * 1.7) % 3 - 1).reshape(shape).requires_grad_()


KEPT_FOR_HOOKS: dict[str, Any] = {
    "det": lambda t, f: t.linalg.det(_spd(t)).reshape(1),
    "slogdet": lambda t, f: t.linalg.slogdet(_spd(t))[1].reshape(1),
    "solve": lambda t, f: t.linalg.solve(_spd(t), _ramp(t, 3, 2)),
    "solve of a vector": lambda t, f: t.linalg.solve(_spd(t).t(), _ramp(t, 3)),
    "max_pool1d": lambda t, f: f.max_pool1d(_ramp(t, 1, 2, 6), 2),
    "max_pool2d": lambda t, f: f.max_pool2d(_ramp(t, 1, 2, 6, 6), 2),
    "adaptive_max_pool2d": lambda t, f: f.adaptive_max_pool2d(_ramp(t, 1, 2, 6, 6), 2),
    "logsigmoid": lambda t, f: f.logsigmoid(_ramp(t, 3)),
    "multilabel_margin_loss": lambda t, f: f.multilabel_margin_loss(
        _ramp(t, 2, 3), t.tensor([[0, 1, -1], [1, -1, 0]])
    ).reshape(1),
    "ctc_loss": lambda t, f: f.ctc_loss(
        _ramp(t, 6, 2, 4).log_softmax(-1), t.tensor([[1, 2], [2, 3]]), t.tensor([6, 6]), t.tensor([2, 2]),
        reduction="none",
    ),
    "pack_padded_sequence": lambda t, f: t.nn.utils.rnn.pack_padded_sequence(_ramp(t, 3, 2, 2), [3, 2]).data,
    "bilinear": lambda t, f: f.bilinear(_ramp(t, 2, 3), _ramp(t, 2, 4), _ramp(t, 5, 3, 4), _ramp(t, 5)),
    "lstm_cell": lambda t, f: t.lstm_cell(
        _ramp(t, 2, 3), (_ramp(t, 2, 4), _ramp(t, 2, 4)), _ramp(t, 16, 3), _ramp(t, 16, 4)
    )[0],
    "rnn_tanh_cell": lambda t, f: t.rnn_tanh_cell(
        _ramp(t, 2, 3), _ramp(t, 2, 4).detach(), _ramp(t, 4, 3), _ramp(t, 4, 4)
    ),
    "gru_cell": lambda t, f: t.gru_cell(_ramp(t, 2, 3), _ramp(t, 2, 4).detach(), _ramp(t, 12, 3), _ramp(t, 12, 4)),
}  # fmt: skip


def _seen_and_gradients(torch: Any, call: Any) -> list[Any]:
    """What hooks see of a call, values too, and the gradients of leaves by what the hooks give back."""
    seen: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t.detach()), t.clone())[1], lambda t: t):
        out = call(torch, torch.nn.functional)
    nodes, grads = [out.grad_fn], []
    out.sum().backward()
    for node in nodes:
        grads += [node.variable.grad] if hasattr(node, "variable") else []
        nodes += [n for n, _ in node.next_functions if n is not None and n not in nodes]
    return [len(seen), *[(str(t.dtype).split(".")[-1], t) for t in seen], *grads]


@differential
def test_what_is_kept_for_hooks(torch: Any) -> Any:
    """G-24: hooks see factors, indices and buffers that PyTorch's nodes keep, and gradients are made of what they give
    back."""
    return {name: _seen_and_gradients(torch, call) for name, call in KEPT_FOR_HOOKS.items()}


@differential
def test_attention_packs_logarithms_of_sums(torch: Any) -> Any:
    """G-24: the mask, operands, what is left of the weights, the result; also where heads share keys."""
    attend = torch.nn.functional.scaled_dot_product_attention
    found: list[Any] = []
    bare = torch.ones(3, 5).tril().bool()
    for heads, how in ((2, {}), (2, {"is_causal": True}), (2, {"attn_mask": bare}), (4, {"enable_gqa": True})):
        found.append(
            _seen_and_gradients(
                torch,
                lambda t, f, heads=heads, how=how: attend(
                    _ramp(t, 1, heads, 3, 4), _ramp(t, 1, 2, 5, 4), _ramp(t, 1, 2, 5, 4), **how
                ),
            )
        )
    out = attend(*(_ramp(torch, 1, heads, 3, 4) for heads in (4, 2, 2)), enable_gqa=True)
    return [*found, out.grad_fn._saved_logsumexp, [n.name().split("::")[-1] for n, _ in out.grad_fn.next_functions]]


@differential
def test_nodes_show_what_is_kept_for_hooks(torch: Any) -> Any:
    """G-19: nodes show it without hooks, too, and hooks can be set on it after the fact."""
    det, pool = torch.linalg.det(_spd(torch)), torch.nn.functional.max_pool2d(_ramp(torch, 1, 2, 4, 4), 2)
    shown = [det.grad_fn._saved_LU, det.grad_fn._saved_pivots, pool.grad_fn._saved_result1]
    pool.grad_fn._raw_saved_result1.register_hooks(lambda t: t + 0, lambda t: t)
    pool.sum().backward()
    return [*shown, pool.grad_fn.next_functions[0][0].variable.grad]
