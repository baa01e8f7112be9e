"""The functions and contexts of ``torch.autograd.graph``."""
