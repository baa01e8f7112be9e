"""Declaring operators the old way: ``custom_op``, ``CustomOp`` and look-ups."""

from ..engine.custom_op.fake_mode import get_ctx
from ..engine.custom_op.legacy import (
    CustomOp,
    _find_custom_op,
    custom_op,
    custom_op_from_existing,
    get_abstract_impl,
    get_op,
    global_registry,
)
from ..engine.custom_op.legacy_rules import (
    SUPPORTED_DEVICES,
    FuncAndLocation,
    parse_qualname,
    validate_function_matches_schema,
    validate_namespace,
    validate_schema,
)

__all__ = [
    "SUPPORTED_DEVICES",
    "CustomOp",
    "FuncAndLocation",
    "_find_custom_op",
    "custom_op",
    "custom_op_from_existing",
    "get_abstract_impl",
    "get_ctx",
    "get_op",
    "global_registry",
    "parse_qualname",
    "validate_function_matches_schema",
    "validate_namespace",
    "validate_schema",
]
