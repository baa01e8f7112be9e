"""Fixes of numbers that their dtype cannot hold: computed in float32, or in a dtype of the same size and more range."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand
from .program import method
from .site import Site, fix

_WIDER = {"float16": "bfloat16", "half": "bfloat16"}
"""Spellings of float16 -> those of the dtype with the same size and the range of float32."""


def _in_float32(site: Site) -> Iterator[Fix]:
    """The operand that grows too large is taken in float32; or the program uses bfloat16 throughout."""
    for one in site.operands:
        text = operand(site.program.text(one))
        change = site.program.replaced(one, f"{text}.float()")
        yield from fix(f"take {text} in float32 there", change, tentative=True)
    yield from _in_bfloat16(site)


def _in_bfloat16(site: Site) -> Iterator[Fix]:
    """Every ``float16`` of the file becomes ``bfloat16``, whose range is that of float32."""
    program = site.program
    nodes = [] if program.tree is None else list(ast.walk(program.tree))
    texts: dict[ast.AST, str] = {}
    for one in nodes:
        if isinstance(one, ast.Attribute) and one.attr in _WIDER:
            texts[one] = f"{program.text(one.value)}.{_WIDER[one.attr]}"
    nested = {inner for outer in texts for inner in ast.walk(outer) if inner is not outer}
    plain = {one: text for one, text in texts.items() if one not in nested}
    if len(plain) == len(texts):
        yield from fix("use bfloat16, which has the range of float32", *program.all_replaced(texts), tentative=True)


def _logarithms(site: Site) -> Iterator[Fix]:
    """A product of many numbers becomes the sum of their logarithms."""
    program = site.program
    for one in site.operands:
        for call in program.expressions(site.statement):
            if isinstance(call, ast.Call) and (method(call, site.case.op) is one or one in call.args):
                text = f"{operand(program.text(one))}.log().sum()"
                yield from fix("add up logarithms", program.replaced(call, text), tentative=True)
    yield from _in_bfloat16(site)


FIXES = {"overflow": _in_float32, "underflow": _logarithms}
