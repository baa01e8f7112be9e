"""``torch.utils.data._utils``: where older programs find how batches are put together."""

from . import collate

__all__ = ["collate"]
