"""Losses of ``torch.nn.functional``, and distances."""
