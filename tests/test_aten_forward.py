"""``ops.aten``: forward operators called with PyTorch's own arguments."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_agree, differential

CALLS = """
max_pool2d_with_indices(x, [2, 2])
max_pool2d_with_indices(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
max_pool2d_with_indices.default(x, [3], [2], [1], 1, True)
max_pool3d_with_indices(x, [2, 2, 2], [1, 2, 2])
adaptive_max_pool2d(x, [2, 3])
adaptive_max_pool2d(x, [4, 4])
adaptive_max_pool3d.default(x, [2, 2, 3])
avg_pool2d(x, [2, 2])
avg_pool2d(x, [2, 2], [1, 1], [1, 1], True, False, 3)
avg_pool3d(x, [2, 2, 2], count_include_pad=False)
grid_sampler_2d(x, places, 1, 1, True), grid_sampler_2d(x, places, 0, 2, False)
upsample_nearest2d(x, [9, 12]), upsample_nearest2d(x, [12, 12], 2.0, 2.0), upsample_nearest2d(x, [12, 12], None, None)
upsample_bilinear2d(x, [9, 9], False), upsample_bilinear2d(x, [13, 13], True, None, None)
upsample_bilinear2d(x, [13, 13], False, 2.2, 2.2), upsample_bicubic2d(x, [9, 9], False)
upsample_linear1d(x[0], [9], False, 1.5), upsample_nearest1d(x[0], [9], 1.5)
upsample_nearest2d.vec(x, [9, 9], None), upsample_bilinear2d.vec(x, None, True, [1.5, 2.])
_upsample_nearest_exact2d(x, [9, 9]), _upsample_bilinear2d_aa(x, [3, 3], False)
topk(x, 2, -1, True, True), topk(x, 2, 1, False)
embedding(x[0, 0], rows), embedding(x[0, 0], rows, 2), embedding(x[0, 0], rows, -1, False, False)
histc(x.detach(), 4), histc(x.detach(), 4, 0, 9)
mse_loss(x, y, 0), mse_loss(x, y, 1), mse_loss(x, y, 2), mse_loss(x, y)
l1_loss(x, y, 0), l1_loss(x, y, 2), smooth_l1_loss(x, y), smooth_l1_loss(x, y, 2, .5), huber_loss(x, y, 2, .5)
soft_margin_loss(x, y, 2), soft_margin_loss(x, y), hinge_embedding_loss(x, y.sign(), 1., 2)
binary_cross_entropy(x.sigmoid(), y.sigmoid(), None, 2), kl_div(x, y.exp(), 2, log_target=False), kl_div(x, y)
binary_cross_entropy_with_logits(x, y, None, None, 2), margin_ranking_loss(x, y, y.sign(), .5, 2)
nll_loss(x[0, 0], rows, None, 2, 3), cross_entropy_loss(x[0, 0], rows, None, 2, -100, .1), cross_entropy_loss(x[0, 0], rows)
multi_margin_loss(x[0, 0], rows, 1, 1., None, 2), poisson_nll_loss(x, y.exp(), True, False, 1e-8, 2)
triplet_margin_loss(x[0], y[0], y[1], 1., 2., 1e-6, False, 2), cosine_embedding_loss(x[0, 0], y[0, 0], signs, .2, 2)
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("calls", CALLS)
def test_a_forward_operator(calls: str) -> None:
    """Its values, nodes and gradients are PyTorch's."""

    def program(torch: Any) -> Any:
        x = torch.arange(216.0, dtype=torch.float64).mul(0.7).sin().reshape(2, 3, 6, 6).requires_grad_()
        y = torch.arange(216.0, dtype=torch.float64).mul(1.9).cos().reshape(2, 3, 6, 6)
        names = {"x": x, "y": y, "rows": torch.tensor([1, 3, 3, 0, 5, 2]), "places": y[:, 0, :4, :2].unsqueeze(1),
                 "signs": torch.tensor([1, -1, 1, 1, -1, -1])}  # fmt: skip
        names["A"] = torch.ops.aten
        results: list[Any] = []
        for call in calls.replace("), ", ")\n").split("\n"):
            found = eval(f"A.{call}", names)
            results += found if isinstance(found, (tuple, list)) else [found]
        moving = [r for r in results if r.requires_grad]
        total = sum((r * r.detach().cos()).sum() for r in moving)
        slopes = torch.autograd.grad(total, [x]) if moving else ()
        return [r.detach() for r in results], [type(r.grad_fn).__name__ for r in moving if "_loss" not in calls], slopes

    assert_agree(program)


SHOWN = """
max_pool2d(x, 2), N.max_pool2d(x, 2, 1, 1, 1, True), N.adaptive_max_pool2d(x, 2), N.avg_pool2d(x, 2)
avg_pool2d(x, 2, 1, 1, True, False, 3), N.interpolate(x, (9, 9)), N.interpolate(x, scale_factor=2.)
interpolate(x, (9, 9), mode="bilinear"), N.interpolate(x, scale_factor=2., mode="bilinear", align_corners=True)
grid_sample(x, x[:, 0, :4, :2].unsqueeze(1), align_corners=False), N.mse_loss(x, x), N.mse_loss(x, x, reduction="sum")
soft_margin_loss(x, x), N.smooth_l1_loss(x, x, reduction="none"), torch.topk(x, 2, -1, False)
""".strip().splitlines()


@pytest.mark.parametrize("calls", SHOWN)
@pytest.mark.parametrize("repeat", [False, True])
def test_modes_are_shown_pytorchs_arguments(calls: str, repeat: bool) -> None:
    """A dispatch mode sees the operators with the arguments that it would see in PyTorch, and calls them with these."""

    def program(torch: Any) -> Any:
        import importlib

        seen: list[Any] = []

        class Logged(importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append((str(func), [list(a) if isinstance(a, tuple) else a for a in args[1:]]))
                found = func(*args, **(kwargs or {}))
                return tuple(t.clone() for t in found) if repeat and isinstance(found, tuple) else found

        x = torch.arange(216.0).mul(0.7).sin().reshape(2, 3, 6, 6).requires_grad_()
        names = {"torch": torch, "N": torch.nn.functional, "x": x}
        with Logged():
            found = eval(f"N.{calls}", names)
        values = [r[0] if isinstance(r, (tuple, list)) else r for r in found]
        slope = torch.autograd.grad(sum(r.cos().sum() for r in values), x)
        asked = ("pool", "upsample", "sampler", "loss", "topk")
        return [entry for entry in seen if any(name in entry[0] for name in asked)], slope

    assert_agree(program)


@differential
def test_operators_that_are_methods(torch: Any) -> Any:
    """``ops.aten`` has what users call as methods of tensors only."""
    x, like, aten = torch.arange(4.0).view(2, 2), torch.ones(2, 2), torch.ops.aten
    alike = [aten.expand_as(x[:1], like), aten.view_as(x, like), aten.reshape_as(x, like), aten.type_as(x, like.int())]
    return [*alike, aten.swapaxes_(x.clone(), 0, 1), aten.fill_diagonal_(x, 9.0)]
