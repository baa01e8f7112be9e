"""Layers of ``torch.nn.functional`` without a sliding window."""
