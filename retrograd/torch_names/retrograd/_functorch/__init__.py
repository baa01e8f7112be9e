"""The names under which PyTorch keeps ``torch.func``: older programs import from here."""
