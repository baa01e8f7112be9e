"""``torch.version``: what this was built with, none of the devices."""

cuda = hip = xpu = git_version = None
debug = False

__all__ = ["cuda", "debug", "git_version", "hip", "xpu"]
