"""``torch._ops``: the classes of operators and their overloads."""

from .engine.overriding.aten import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket"]
