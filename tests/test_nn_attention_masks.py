"""Masks of ``MultiheadAttention`` and of transformers: what is refused, warned of and left out, as in PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from both_engines import assert_same, differential, plain, raises, warned

import retrograd


def attention(torch: Any) -> Any:
    """A layer with known weights, and queries for it."""
    made = torch.nn.MultiheadAttention(4, 2)
    for i, p in enumerate(made.parameters()):
        p.data = torch.arange(float(p.numel())).add(i).sin().view(p.shape)
    return made, torch.arange(24.0).cos().view(3, 2, 4)


@differential
def test_F_29_masks_of_wrong_sizes(torch: Any) -> Any:
    """Row F-29: errors of forward reach the caller; dimensions, sizes and dtypes of masks are named in them."""
    layer, q = attention(torch)

    def refused(phrase: str, *operands: Any, **masks: Any) -> str:
        return raises(phrase, layer, *(operands or (q, q, q)), **masks)

    zeros = torch.zeros
    return [
        refused("The shape of the 2D attn_mask is torch.Size([2, 2]), but should be (3, 3).", attn_mask=zeros(2, 2)),
        refused("The shape of the 3D attn_mask is torch.Size([3, 3, 3]), but", attn_mask=zeros(3, 3, 3)),
        refused("expected `attn_mask` to be `None`, 2-D or 3-D but found 1-D", attn_mask=zeros(3)),
        refused("only bool and floating types of attn_mask are supported", attn_mask=zeros(3, 3).long()),
        refused("only bool and floating types of key_padding_mask", key_padding_mask=zeros(2, 3).long()),
        refused("Expected key_padded_mask.shape[0] to be 2, but got 3", key_padding_mask=zeros(3, 2).bool()),
        refused("Expected key_padded_mask.shape[1] to be 3, but got 4", key_padding_mask=zeros(2, 4).bool()),
        refused("expected `key_padding_mask` to be `None` or 2-D but found 1-D", key_padding_mask=zeros(3).bool()),
        refused("unbatched (2-D) `query`, expected `key` and `value` to be 2-D but found 2-D and 3-D", q[0], q[0], q),
        refused("For batched (3-D) `query`, expected `key` and `value` to be 3-D but found 2-D", q, q[0], q),
        refused("query should be unbatched 2D or batched 3D tensor but received 4-D", q[None], q, q),
        refused("Expected `attn_mask` shape to be (2, 2, 2) but got", q[0], q[0], q[0], attn_mask=zeros(1, 2, 2)),
        layer(q, q, q, attn_mask=torch.ones(3, 3).triu(1).bool())[0],
        warned("mismatched key_padding_mask and attn_mask is deprecated", layer, q, q, q,
               key_padding_mask=zeros(2, 3).bool(), attn_mask=zeros(3, 3)),
    ]  # fmt: skip


@differential
def test_F_29_masks_of_transformers(torch: Any) -> Any:
    """Row F-29: a layer names its own arguments; batches of both sides must be of one size."""
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    x = torch.ones(3, 2, 4)
    whole = warned("", torch.nn.Transformer, 4, 2, 1, 1, 8)[1]
    return [
        raises("only bool and floating types of src_mask are supported", layer, x, torch.ones(3, 3).int()),
        raises("only bool and floating types of src_key_padding_mask", layer, x, None, torch.ones(2, 3).int()),
        raises("the batch number of src and tgt must be equal", whole, x, x[:, :1]),
    ]


@differential
def test_F_29_why_padding_is_computed(torch: Any) -> Any:
    """Row F-29: an encoder says why it cannot leave padding out, one reason for each kind of layer."""
    nn = torch.nn

    def said(because: str, *sizes: int, enable: bool = True, **options: Any) -> list[str]:
        layer = nn.TransformerEncoderLayer(*sizes, 8, **options)
        text = f"self.use_nested_tensor is False because {because}"
        found, made = warned(text, nn.TransformerEncoder, layer, 1, enable_nested_tensor=enable)
        return [*found, made.use_nested_tensor]

    return [
        said("encoder_layer.self_attn.batch_first was not True(use", 4, 2),
        said("encoder_layer.norm_first was True", 4, 2, batch_first=True, norm_first=True),
        said("encoder_layer.self_attn was passed bias=False", 4, 2, batch_first=True, bias=False),
        said("encoder_layer.self_attn.num_heads is odd", 6, 3, batch_first=True),
        said("encoder_layer.activation_relu_or_gelu was not True", 4, 2, batch_first=True, activation=torch.tanh),
        said("", 4, 2, batch_first=True), said("", 4, 2, enable=False),
        warned("encoder_layer was not TransformerEncoderLayer", nn.TransformerEncoder, nn.Linear(1, 1), 1)[0],
    ]  # fmt: skip


@differential
def test_F_29_padding_behind_becomes_zeros(torch: Any) -> Any:
    """Row F-29: once nothing is trained or recorded, an encoder gives zeros for padding that is all behind."""
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    for i, p in enumerate(layer.parameters()):
        p.data = torch.arange(float(p.numel())).add(i).sin().view(p.shape)
    encoder, normed = (torch.nn.TransformerEncoder(layer, 2, norm) for norm in (None, torch.nn.LayerNorm(4)))
    encoder.eval(), normed.eval()
    x = torch.arange(24.0).cos().view(2, 3, 4)
    behind = torch.tensor([[False, False, True], [False, True, True]])
    with torch.no_grad():
        found = [
            warned("", e, x, src_key_padding_mask=m)[1] for e in (encoder, normed) for m in (behind, behind.flip(1))
        ]
        as_numbers = warned("", encoder, x, src_key_padding_mask=torch.where(behind, -torch.inf, 0.0))[1]
        masked = encoder(x, mask=torch.zeros(3, 3).bool(), src_key_padding_mask=behind)
    return found, as_numbers, masked, encoder(x, src_key_padding_mask=behind)


@pytest.mark.filterwarnings("ignore")  # PyTorch says that it is slow where nothing is compiled
def test_attention_by_functions_of_places() -> None:
    """Scores and masks that a program writes as functions give PyTorch's results, and its blocks of masks."""
    torch = pytest.importorskip("torch")

    def program(engine: Any) -> Any:
        flex = importlib.import_module(f"{engine.__name__}.nn.attention.flex_attention")
        q, k, v = (engine.linspace(-3, 3 + n, 2 * 4 * 6 * 8).sin().view(2, 4, 6, 8) for n in range(3))
        slopes, document = engine.exp2(-engine.arange(4.0)), engine.arange(6) // 4
        causal = lambda b, h, i, j: i >= j  # noqa: E731
        near = flex.or_masks(lambda b, h, i, j: (i - j).abs() < 2, lambda b, h, i, j: document[i] == document[j])
        both = flex.and_masks(causal, near)
        blocks = flex.create_block_mask(both, None, None, 6, 6, device="cpu", BLOCK_SIZE=2)
        unseeing = flex.create_block_mask(lambda b, h, i, j: i > j, 2, 4, 6, 6, device="cpu")
        seen = [
            flex.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * (j - i)),
            flex.flex_attention(q, k, v, block_mask=blocks, score_mod=lambda s, b, h, i, j: 2 * engine.tanh(s / 2)),
            flex.flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True, scale=0.5),
            *flex.flex_attention(q, k, v, block_mask=unseeing, return_lse=True),
            flex.flex_attention(q.half(), k.half(), v.half()).float().round(decimals=2),
            blocks.to_dense(), blocks.shape, blocks.sparsity(), blocks.numel(), blocks.BLOCK_SIZE, unseeing.shape,
            unseeing.sparsity(), flex.create_mask(both, 1, None, 3, 4, device="cpu"),
        ]  # fmt: skip
        attend = flex.flex_attention
        calls = [
            (q[0], k, v), (q, k[:, :2], v), (q, k[:, :3], v[:, :3], None, None, None, True), (q, k[..., :2], v),
            (q, k[:1], v[:1]), (q[:, :, :3], k, v, None, blocks),
        ]  # fmt: skip
        words = ["4D", "number of heads", "a multiple of kv heads", "embedding dim", "batch size", "block_mask.shape="]
        return [*seen, *(raises(phrase, attend, *call) for phrase, call in zip(words, calls, strict=True))]

    assert_same(plain(program(torch)), plain(program(retrograd)), "")


@pytest.mark.filterwarnings("ignore")
def test_blocks_of_a_mask_are_listed() -> None:
    """Numbers of blocks by rows and by columns, those in part apart from full ones; parts of masks; pictures."""
    torch = pytest.importorskip("torch")
    parts = [
        f"{full}{way}_{what}" for full in ("", "full_") for way in ("kv", "q") for what in ("num_blocks", "indices")
    ]

    def facts(mask: Any) -> Any:
        lists = [None if t is None else [t.tolist(), str(t.dtype)[-5:]] for t in (getattr(mask, p) for p in parts)]
        said = [text.replace("retrograd.", "torch.") for text in (mask.to_string(), repr(mask), str(mask))]
        return [
            *lists,
            mask.shape,
            mask.seq_lengths,
            mask.sparsity(),
            *said,
        ]

    def program(engine: Any) -> Any:
        flex = importlib.import_module(f"{engine.__name__}.nn.attention.flex_attention")

        def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
            return q + h >= k

        make, lists = flex.create_block_mask, flex.BlockMask.from_kv_blocks
        mask, large = make(causal, 3, 2, 10, 12, "cpu", 4), make(causal, None, None, 50, 46, "cpu", 1)
        nothing = make(lambda b, h, q, k: q < 0, None, None, 8, 8, "cpu", (2, 4))
        given = lists(mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices, 4, causal)
        some = lists(mask.kv_num_blocks, mask.kv_indices, BLOCK_SIZE=(4, 2), seq_lengths=(12, 6))
        found = [facts(one) for one in (mask, nothing, given, some, mask[1], mask[0, -1:], mask[:2, 1])]
        q, k = engine.ones(1, 2, 10, 4), engine.ones(1, 2, 12, 4)
        refused = raises("both provided", lists, mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks)
        refused += raises("from a sliced BlockMask", flex.flex_attention, q, k, k, None, mask[1])
        return [*found, large.to_string(), large.to_string((5, 4)), mask.to_string(limit=2), refused]

    assert_same(plain(program(torch)), plain(program(retrograd)), "")


def test_attention_by_functions_of_places_is_differentiable() -> None:
    """Gradients flow to what the functions use, too; what cannot be called for all places at once is refused."""
    flex = importlib.import_module("retrograd.nn.attention.flex_attention")
    q = retrograd.linspace(-1, 2, 24, dtype=retrograd.float64).sin().view(1, 2, 3, 4).requires_grad_()
    bias = retrograd.linspace(0, 1, 10, dtype=retrograd.float64).view(2, 5).requires_grad_()
    mask = flex.create_block_mask(lambda b, h, i, j: i > j, None, None, 3, 3)
    with_bias = lambda s, b, h, i, j: s * 2 + bias[h, i - j + 2]  # noqa: E731
    attend = flex.flex_attention

    assert retrograd.autograd.gradcheck(lambda q, bias: attend(q, q, q.cos(), with_bias, mask), (q, bias))
    beside = attend(q, q, q, return_aux=flex.AuxRequest(lse=True, max_scores=True))[1]
    assert (beside.lse >= beside.max_scores).all()
    for wrong in (lambda s, b, h, i, j: s + bias[h][i - j + 2], lambda s, b, h, i, j: s - s.sum()):
        with pytest.raises((RuntimeError, IndexError), match=r"places|out of"):
            attend(q, q, q, wrong)
