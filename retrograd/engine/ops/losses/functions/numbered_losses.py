"""Losses that torch also has outside of ``nn.functional``, where the reduction is a number (default 0: none)."""

from __future__ import annotations

from typing import Any

from ....table.public import NAMESPACES, NN, public

_REDUCTIONS = ("none", "mean", "sum")


def _numbered(name: str, parameters: str) -> None:
    """Publish ``torch.<name>``; ``parameters`` in torch's order, ``reduction`` among them."""
    loss = NAMESPACES[NN][name]
    names = parameters.split()

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        reduction = given.pop("reduction", 0)
        return loss(**given, reduction=reduction if isinstance(reduction, str) else _REDUCTIONS[reduction])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = loss.__doc__
    public(name, method=False)(call)


_numbered("binary_cross_entropy_with_logits", "input target weight pos_weight reduction")
_numbered("cosine_embedding_loss", "input1 input2 target margin reduction")
_numbered("ctc_loss", "log_probs targets input_lengths target_lengths blank reduction zero_infinity")
_numbered("hinge_embedding_loss", "input target margin reduction")
_numbered("kl_div", "input target reduction log_target")
_numbered("margin_ranking_loss", "input1 input2 target margin reduction")
_numbered("poisson_nll_loss", "input target log_input full eps reduction")
_numbered("triplet_margin_loss", "anchor positive negative margin p eps swap reduction")
