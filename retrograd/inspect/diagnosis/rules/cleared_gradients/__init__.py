"""Gradients that are cleared before the optimizer uses them, so that no step of it ever finds one."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
