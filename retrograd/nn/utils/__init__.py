"""The face of ``torch.nn.utils``: sequences of several lengths (``rnn``)."""

from . import rnn

__all__ = ["rnn"]
