"""``torch.library``: declare operators of your own, give them kernels and gradients, and check them."""

from .engine.custom_op.definition import CustomOpDef, custom_op
from .engine.custom_op.fake_mode import get_ctx
from .engine.custom_op.library import (
    Library,
    _scoped_library,
    define,
    fallthrough_kernel,
    get_kernel,
    impl,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)
from .engine.custom_op.library import register_fake as impl_abstract
from .engine.custom_op.opcheck import OpCheckError, opcheck
from .engine.custom_op.schema_inference import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "_scoped_library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
