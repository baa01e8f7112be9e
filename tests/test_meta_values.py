"""``device='meta'``: functions that look at values themselves, and what they make of tensors that have none."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from both_engines import differential
from test_meta_device import device_for, facts

import retrograd as rg

CALLS = """
x.double().view(torch.float32) | x.detach().view(torch.int32) | x.detach()[1:].view(torch.float64)
F.embedding_bag(i, x, torch.tensor([0, 2], device=d)) | F.embedding_bag(i.view(1, 3), x, mode='max')
F.embedding_bag(i.view(1, 3), x, per_sample_weights=x[:1, :3] * 2, mode='sum') | F.embedding_bag(i.view(3, 1), x)
torch.embedding_bag(x, i, torch.tensor([0, 2], device=d), mode=1) | torch.nn.EmbeddingBag(5, 3, device=d)(i.view(1, 3))
F.max_unpool1d(v, i[:2].expand(1, 2, 2), 2) | F.max_unpool2d(v.unsqueeze(0), i[:2].expand(1, 1, 2, 2), 2)
F.max_unpool3d(v[None, None], i[:2].expand(1, 1, 1, 2, 2), (1, 2, 2)) | x.quantile(0.5) | x.quantile(0.2, 1)
x.quantile(torch.tensor([0.5, 0.2], device=d), 1, keepdim=True) | x.nanquantile(0.5, 0, interpolation='nearest')
torch.histc(x.detach(), 10) | torch.normal(x, 1.0) | torch.normal(x, x.detach()) | torch.normal(1.0, x) | F.gumbel_softmax(x)
F.gumbel_softmax(x, hard=True) | torch.segment_reduce(x, 'sum', lengths=torch.tensor([2, 2], device=d))
F.ctc_loss(x[:, None], i[None, :2] + 1, (4,), (2,)) | torch.native_layer_norm(x, (4,), None, None, 1e-5)
torch.native_group_norm(v, None, None, 1, 2, 2, 1, 1e-5) | torch.native_batch_norm(v, None, None, None, None, True, 0.1, 1e-5)
x.as_strided_scatter(torch.ones(2, 2, device=d), (2, 2), (1, 2)) | torch.vander(x[0]) | torch.linalg.vander(x[0], N=3)
torch.nn.MultiheadAttention(4, 2, device=d)(x, x, x, attn_mask=torch.zeros(4, 4, device=d) > 0)
torch.nn.MultiheadAttention(4, 2, device=d)(x, x, x, attn_mask=torch.zeros(4, 4, device=d))
torch.nn.MultiheadAttention(4, 2, device=d)(x[:, None], x[:, None], x[:, None], torch.zeros(1, 4, device=d) > 0)
F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], is_causal=True)
F.multilabel_margin_loss(x, torch.zeros(4, 4, dtype=torch.int64, device=d))
torch.linalg.lu_factor(x) | torch.lu_unpack(*torch.linalg.lu_factor(x)) | torch.linalg.lu_factor_ex(x)
F.adaptive_max_pool1d(v, 1, True) | F.adaptive_max_pool2d(v, 2, True) | torch.nn.init.trunc_normal_(x.detach())
"""  # noqa: E501


@differential
@pytest.mark.filterwarnings("ignore")
def test_shapes_where_functions_look_at_values(torch: Any) -> Any:
    """Shapes, dtypes, strides and whether there is a graph, as of tensors with memory."""
    d = device_for(torch)
    x = torch.eye(4, device=d).requires_grad_()
    names = {"torch": torch, "F": torch.nn.functional, "d": d, "x": x, "v": x[:1, :].view(1, 2, 2)}
    names["i"] = torch.zeros(3, dtype=torch.int64, device=d)
    found = []
    for text in CALLS.strip().replace("\n", " | ").split(" | "):
        made = eval(text, names)
        found.append([text, [facts(t)[1:5] for t in (made if isinstance(made, (tuple, list)) else [made])]])
    return found


def test_no_random_numbers_are_drawn() -> None:
    """The generator stands where it stood."""
    x, before = rg.ones(3, 4, device="meta"), rg.get_rng_state()
    rg.nn.functional.gumbel_softmax(x, hard=True)
    rg.normal(x, 1.0)
    rg.normal(x, x)
    rg.nn.init.trunc_normal_(x, std=0.02)
    assert rg.equal(rg.get_rng_state(), before)


@differential
def test_dispatch_modes_hear_the_limits_of_histograms(torch: Any) -> Any:
    """``aten.histc`` has its two limits one by one."""

    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode
    heard = []

    class Mode(base):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append([str(func), *[float(a) for a in args[1:]]])
            return func(*args, **(kwargs or {}))

    with Mode():
        made = torch.arange(4.0).histc(4, 0, 4)
    return heard[-1], made
