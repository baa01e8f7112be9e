"""``nn.attention.bias`` and ``utils._device``: causal masks as tensors; devices of new tensors as a mode."""

from __future__ import annotations

import importlib
from typing import Any

from both_engines import differential, raises, warned


@differential
def test_attention_with_causal_bias(torch: Any) -> Any:
    """Values and gradients, with fewer queries than keys, as many, and more; other heads; dropout of nothing."""
    bias, F = importlib.import_module(f"{torch.__name__}.nn.attention.bias"), torch.nn.functional  # noqa: N806
    found = []
    for queries, keys in ((3, 5), (4, 4), (5, 3)):
        q = torch.arange(queries * 16.0).sin().reshape(1, 4, queries, 4).requires_grad_()
        k = torch.arange(keys * 16.0).cos().reshape(1, 4, keys, 4).requires_grad_()
        for name in ("causal_upper_left", "causal_lower_right")[: 1 if queries > keys else 2]:
            mask = getattr(bias, name)(queries, keys)
            out = F.scaled_dot_product_attention(q, k, k.tanh(), attn_mask=mask, scale=0.3)
            found += [out, type(out) is torch.Tensor, out.grad_fn, *torch.autograd.grad(out.sin().sum(), [q, k])]
            found += [mask.variant.name, mask.seq_len_q, mask.seq_len_kv, mask._materialize(), repr(mask)]
    return found


@differential
def test_refusals_of_causal_bias(torch: Any) -> Any:
    """Twice causal, no two lengths, a variant by number; a query that may see no key is warned of."""
    bias = importlib.import_module(f"{torch.__name__}.nn.attention.bias")
    q = torch.ones(1, 2, 3, 4)
    attention = torch.nn.functional.scaled_dot_product_attention
    twice = raises("should not be used with causal=True", attention, q, q, q, bias.causal_upper_left(3, 3), 0.0, True)
    return [twice, raises("only supports 2D tensors", bias.causal_lower_right, 3, 4, 5),
            raises("variant must be a CausalVariant, got int", bias.CausalBias, 1, 3, 3),
            [variant.name for variant in bias.CausalVariant],
            warned("will produce NaNs in the output when seq_len_q > seq_len_kv", bias.causal_lower_right, 4, 3)[0],
            isinstance(bias.causal_upper_left(2, 2), torch.Tensor)]  # fmt: skip


@differential
def test_device_context(torch: Any) -> Any:
    """A block, a decorator by name or object; ``device=`` wins."""
    module = importlib.import_module(f"{torch.__name__}.utils._device")
    context = module.DeviceContext("meta")
    with context, module.DeviceContext(torch.device("cpu")):
        inside = torch.ones(2).device
    with context:
        again = [torch.ones(2).device, torch.tensor(3).device, torch.zeros(2, device="cpu").device]
    made = [
        module.set_device("meta")(lambda n: torch.ones(n))(2),
        module.device_decorator(torch.device("meta"), torch.ones)(2),
    ]
    return (
        str(context.device),
        str(inside),
        [str(d) for d in again],
        [str(t.device) for t in made],
        str(torch.ones(2).device),
    )
