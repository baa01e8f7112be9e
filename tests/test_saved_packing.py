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
