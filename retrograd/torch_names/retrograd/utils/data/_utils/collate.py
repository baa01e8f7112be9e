"""``torch.utils.data._utils.collate``: re-exports only."""

from ..dataloader import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
