"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from .. import functional, init
from ..module import Module
from .linear import NonDynamicallyQuantizableLinear


class MultiheadAttention(Module):
    """Attention of queries over keys and values in ``num_heads`` subspaces (Vaswani et al. 2017)."""

    in_proj_weight: Any
    in_proj_bias: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim, self.kdim, self.vdim = embed_dim, kdim or embed_dim, vdim or embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._projections(bias, add_bias_kv, {"device": device, "dtype": dtype})
        self._reset_parameters()

    def _projections(self, bias: bool, add_bias_kv: bool, place: dict[str, Any]) -> None:
        """Register weights and biases of the projections: one weight ``(3 * E, E)``, or three where sizes differ."""
        size, same = self.embed_dim, self._qkv_same_embed_dim

        def weight(*shape: int) -> Any:
            return Parameter(FUNCTIONS["empty"](*shape, **place))

        if not same:
            self.q_proj_weight = weight(size, size)
            self.k_proj_weight, self.v_proj_weight = weight(size, self.kdim), weight(size, self.vdim)
        self.register_parameter("in_proj_weight", weight(3 * size, size) if same else None)
        if same:
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", weight(3 * size) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias=bias, **place)
        self.bias_k, self.bias_v = (weight(1, 1, size) if add_bias_kv else None for _ in range(2))

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for given in (self.bias_k, self.bias_v):
            if given is not None:
                init.xavier_normal_(given)

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Outputs and, if wanted, the weights of the attention."""
        swapped = self.batch_first and query.ndim == 3
        if swapped:
            turned = {id(given): given.transpose(1, 0) for given in (query, key, value)}  # one tensor stays one
            query, key, value = (turned[id(given)] for given in (query, key, value))
        separate = {}
        if not self._qkv_same_embed_dim:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            separate = {"use_separate_proj_weight": True, **{name: getattr(self, name) for name in names}}
        out, weights = functional.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal, **separate,
        )  # fmt: skip
        return (out.transpose(0, 1) if swapped else out), weights
