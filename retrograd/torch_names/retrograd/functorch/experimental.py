"""``functorch.experimental``: re-exports only."""

from ..func import functionalize, replace_all_batch_norm_modules_

__all__ = ["functionalize", "replace_all_batch_norm_modules_"]
