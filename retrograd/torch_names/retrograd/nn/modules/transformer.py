"""Transformer layers and stacks of them (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.ops.layers.functions.attention import canonical_masks
from ...engine.switches.state import STATE
from ...engine.warning import warn
from .. import functional, init
from ..module import Module
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .normalization import LayerNorm


def _activation(given: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    function: Callable[[Any], Any] = getattr(functional, given)
    return function


class _TransformerLayer(Module):
    """The parts of a layer: attentions, two linear maps, and a norm and a dropout around each part."""

    attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        for name in self.attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first, parts = norm_first, len(self.attentions) + 1
        for i in range(1, parts + 1):
            self.add_module(f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in range(1, parts + 1):
            self.add_module(f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _feed_forward(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _residual(self, x: Any, number: int, part: Callable[[Any], Any]) -> Any:
        """``x`` plus what a part makes of it, normalized before the part or after the sum."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        return x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward part."""

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """Apply the layer."""
        names = ("src_mask", "src_key_padding_mask")
        masks = canonical_masks(src_mask, src_key_padding_mask, src._sig.numpy, names)
        src_mask, src_key_padding_mask = masks

        def attend(x: Any) -> Any:
            return self.self_attn(
                x, x, x, key_padding_mask=src_key_padding_mask, need_weights=False, attn_mask=src_mask,
                is_causal=is_causal,
            )[0]  # fmt: skip

        return self._residual(self._residual(src, 1, attend), 2, self._feed_forward)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention over an encoder's output, and a feed-forward part."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Apply the layer."""

        def attend(x: Any) -> Any:
            masks = {"key_padding_mask": tgt_key_padding_mask, "attn_mask": tgt_mask, "is_causal": tgt_is_causal}
            return self.self_attn(x, x, x, need_weights=False, **masks)[0]

        def look(x: Any) -> Any:
            masks = {
                "key_padding_mask": memory_key_padding_mask, "attn_mask": memory_mask, "is_causal": memory_is_causal,
            }  # fmt: skip
            return self.multihead_attn(x, memory, memory, need_weights=False, **masks)[0]

        x = self._residual(self._residual(tgt, 1, attend), 2, look)
        return self._residual(x, 3, self._feed_forward)


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


_NOT_BATCH_FIRST = "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"


def _why_not_nested(layer: Any) -> str:
    """Why PyTorch would not compute a layer without its padding; empty where it would (here it is never done)."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    for true, reason in (
        (layer.norm_first, "encoder_layer.norm_first was True"),
        (not attention.batch_first, _NOT_BATCH_FIRST),
        (not attention._qkv_same_embed_dim, "encoder_layer.self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "encoder_layer.self_attn was passed bias=False"),
        (layer.activation not in (functional.relu, functional.gelu),
         "encoder_layer.activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "encoder_layer.self_attn.num_heads is odd"),
    ):  # fmt: skip
        if true:
            return reason
    return ""


class TransformerEncoder(Module):
    """Copies of an encoder layer one after the other."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _why_not_nested(encoder_layer) if enable_nested_tensor else ""
        self.use_nested_tensor = enable_nested_tensor and not reason
        if reason:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}")

    def _padded(self, src: Any, mask: Any) -> Any:
        """Where results are zeros, as PyTorch gives them that computes without the padding; None where it does not.

        So it does once nothing is trained or recorded, for padding that is all behind.
        """
        if mask is None or src.ndim != 3 or not self.use_nested_tensor or self.layers[0].training:
            return None
        if STATE.grad_enabled and any(x.requires_grad for x in (src, *self.layers[0].parameters())):
            return None
        padded = mask if mask._sig.kind == "b" else mask == -math.inf
        aligned = not self.mask_check or not (padded[:, :-1] & ~padded[:, 1:]).any()
        return padded if aligned else None

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """Apply every layer, and the norm at the end."""
        padded = self._padded(src, src_key_padding_mask) if mask is None else None
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        if padded is not None:
            src = FUNCTIONS["masked_fill"](src, padded.unsqueeze(-1), 0)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer one after the other."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(decoder_layer, num_layers), num_layers, norm

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Apply every layer, and the norm at the end."""
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that looks at what it gives."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Any], Any] = "relu",
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation)
        options = {"batch_first": batch_first, "norm_first": norm_first, "bias": bias, "device": device, "dtype": dtype}
        options["layer_norm_eps"] = layer_norm_eps
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype) for _ in range(2)]
        encoding, decoding = (kind(*sizes, **options) for kind in (TransformerEncoderLayer, TransformerDecoderLayer))
        self.encoder = custom_encoder or TransformerEncoder(encoding, num_encoder_layers, norms[0])
        self.decoder = custom_decoder or TransformerDecoder(decoding, num_decoder_layers, norms[1])
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Decode ``tgt`` in view of the encoded ``src``."""
        if src.ndim == 3 and src.shape[1 - self.batch_first] != tgt.shape[1 - self.batch_first]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """Zeros on and below the diagonal, minus infinity above: no position attends to later ones."""
        return FUNCTIONS["full"]((sz, sz), -math.inf, dtype=dtype).triu(1)
