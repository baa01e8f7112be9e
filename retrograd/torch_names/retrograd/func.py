"""``torch.func``: re-exports only."""

from .engine.transforms.derivatives import grad, grad_and_value, jacrev, vjp
from .engine.transforms.functionalize import debug_unwrap, functionalize
from .engine.transforms.pushforward import hessian, jacfwd, jvp, linearize
from .engine.transforms.rearrange import rearrange
from .engine.transforms.vmap import vmap
from .nn.modules.batchnorm import replace_all_batch_norm_modules_
from .nn.utils.replaced_state import functional_call, stack_module_state

__all__ = [
    "debug_unwrap",
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
