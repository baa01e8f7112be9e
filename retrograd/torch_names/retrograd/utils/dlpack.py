"""``torch.utils.dlpack``: re-exports only."""

from ..engine.methods import FUNCTIONS

from_dlpack, to_dlpack = FUNCTIONS["from_dlpack"], FUNCTIONS["to_dlpack"]

__all__ = ["from_dlpack", "to_dlpack"]
