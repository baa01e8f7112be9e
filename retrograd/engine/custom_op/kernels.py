"""Rules that hold around a custom operator's kernels: results are new memory, in-place and out forms, fake writes."""

from __future__ import annotations

import sys
from typing import Any

from ..switches.modes import is_grad_enabled
from .memory import memory_block
from .registry import AutogradKernel, Kernel, OpOverload, tensors_in
from .tags import Tag


def check_aliasing(op: OpOverload, fn: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Raise unless the results are new tensors in memory of their own, or what the operator's tag says."""
    if Tag.inplace in op.tags:
        if result is not args[0]:
            raise RuntimeError(
                f"{_where(op, fn)}: An operator tagged with torch.Tag.inplace must return its first argument."
            )
        return
    if Tag.out in op.tags:
        _check_out(op, fn, kwargs, result)
        return
    seen = {memory_block(t) for t in tensors_in((*args, *kwargs.values()))}
    for tensor in tensors_in((result,)):
        block = memory_block(tensor)
        if block in seen:
            raise RuntimeError(
                f"{_where(op, fn)}: The output of this custom operator (1) must not also be an input to this custom "
                "operator and (2) may not alias any inputs to this custom operator or other returns. The most common "
                "way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please "
                "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
                "custom operator to not return y."
            )
        seen.add(block)


def _check_out(op: OpOverload, fn: Kernel, kwargs: dict[str, Any], result: Any) -> None:
    expected = [kwargs[a.name] for a in op._schema.keyword_only if a.is_write]
    returned = list(result) if isinstance(result, list | tuple) else [result]
    if len(returned) != len(expected) or any(r is not e for r, e in zip(returned, expected, strict=True)):
        raise RuntimeError(
            f"{_where(op, fn)}: An operator tagged with torch.Tag.out must return its mutable keyword-only arguments."
        )


def _where(op: OpOverload, fn: Kernel) -> str:
    module = sys.modules.get(getattr(fn, "__module__", ""), None)
    return f"{op.opname} (with implementation in {module or 'an unknown module'})"


def fake_written(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Fake result of an operator that returns nothing or exactly what it wrote."""
    written = list(op.written_tensors(args, kwargs))
    returns = op._schema.returns
    if not returns:
        return None
    return written[0] if len(returns) == 1 else tuple(written)


def refuse_out_autograd(op: OpOverload) -> AutogradKernel:
    """Autograd entry of an out-tagged operator: an error if anything requires grad, else straight to the kernel."""

    def kernel(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_grad_enabled() and any(t.requires_grad for t in tensors_in((*args, *kwargs.values()))):
            raise RuntimeError(
                f"{op.opname}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        return op.below_autograd(args, kwargs)

    return kernel
