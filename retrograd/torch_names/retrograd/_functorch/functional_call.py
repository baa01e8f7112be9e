"""``torch._functorch.functional_call``: re-exports only."""

from ..func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
