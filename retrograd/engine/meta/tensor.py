"""``MetaTensor``: a tensor without memory, whose class computes every operator below autograd (``computing``)."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from ..aliasing.strided import element_strides, storage_offset
from ..calls.inplace import bump_version
from ..core.base import with_array
from ..core.devices import device
from ..core.dtypes import get_default_dtype
from ..overriding.dispatch_classes import count
from ..overriding.overrides import disabled_torch_function_impl
from ..table.public import FUNCTIONS
from ..tensors.printing import grad_suffix
from ..tensors.tensor import Tensor
from .memory import absent

META = device("meta")
NO_DATA = "Cannot copy out of meta tensor; no data!"


def _refuse_data() -> NoReturn:
    raise NotImplementedError(
        f"{NO_DATA} It has a shape and a dtype only; empty_like(device='cpu') makes one with memory."
    )


class MetaTensor(Tensor):
    """A tensor on ``device='meta'``."""

    __torch_function__ = disabled_torch_function_impl  # functions are those of all tensors
    is_meta: ClassVar[bool] = True
    is_cpu: ClassVar[bool] = False
    answer: Any = None
    """What an operator makes of operands without memory (``computing`` sets it)."""

    @staticmethod
    def made(shape: Any, numpy: Any, strides: Any = None, offset: int = 0, requires_grad: bool = False) -> MetaTensor:
        """The tensor of a shape and dtype; ``strides`` and ``offset`` count elements."""
        new = with_array(MetaTensor, absent(tuple(shape), numpy, strides, offset))
        count(new)
        if requires_grad:
            new._requiring_grad()
        return new  # type: ignore[no-any-return]

    def alias(self) -> MetaTensor:
        """Another tensor that is laid out like this one."""
        return MetaTensor.made(self.shape, self._sig.numpy, element_strides(self._array), storage_offset(self))

    def reinterpreted(self, numpy: Any) -> MetaTensor:
        """The same memory read as numbers of another type."""
        array = self._array.view(numpy)
        offset = storage_offset(self) * self._sig.numpy.itemsize // numpy.itemsize
        return MetaTensor.made(array.shape, numpy, element_strides(array), offset)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The shape, dtype and strides of an operator's result; operators of programs have kernels for them."""
        if not hasattr(func, "row"):
            return func.run_kernel(args, kwargs or {})
        return MetaTensor.answer(func, args, kwargs or {})

    @property
    def device(self) -> device:
        """``meta``."""
        return META

    def item(self) -> NoReturn:
        """Refused: there is no value."""
        raise RuntimeError("Tensor.item() cannot be called on meta tensors: they have no values")

    __bool__ = __float__ = __int__ = __index__ = __complex__ = item

    def tolist(self) -> NoReturn:
        """Refused: there are no values."""
        _refuse_data()

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Refused: there is no memory."""
        if force:
            _refuse_data()
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Refused: there is no memory."""
        self.numpy()

    def data_ptr(self) -> int:
        """0: there is no address."""
        return 0

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        """A tensor of data on the same device, unless another one is given."""
        kind = self.dtype if dtype is None else dtype
        where = META if device is None else device
        return FUNCTIONS["tensor"](data, dtype=kind, device=where, requires_grad=requires_grad)

    def get_device(self) -> int:
        """-1: it has no number."""
        return -1

    @property
    def data(self) -> Any:
        """The same without history."""
        return self.alias()

    @data.setter
    def data(self, value: Any) -> None:
        Tensor.data.__set__(self, value)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = self.alias()
        meta = made.need_meta()
        if self._meta is not None and self._meta.is_parameter:
            meta.is_parameter = True
        memo[id(self)] = made
        return made._requiring_grad() if self.requires_grad else made

    def __reduce_ex__(self, protocol: Any) -> Any:
        is_parameter = self._meta is not None and self._meta.is_parameter
        return rebuild, (tuple(self.shape), self._sig.dtype, self.stride(), self.requires_grad, is_parameter)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        dtype = [] if self.dtype is get_default_dtype() else [f"dtype={self.dtype}"]
        said = ["...", "device='meta'", f"size={tuple(self.shape)}", *dtype, *grad_suffix(self)]
        before = "Parameter containing:\n" if self._meta is not None and self._meta.is_parameter else ""
        return f"{before}tensor({', '.join(said)})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return self.item() if spec else repr(self)


def rebuild(shape: Any, dtype: Any, strides: Any, requires_grad: bool, is_parameter: bool) -> MetaTensor:
    """The tensor that a file describes."""
    made = MetaTensor.made(shape, dtype.numpy, strides)
    made.need_meta().is_parameter = is_parameter
    if requires_grad:
        made._requiring_grad()
    return made


def _unwritten(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor itself: there is no memory to write random numbers to, and none are drawn."""
    bump_version(self)
    return self


for _name in (
    "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "cauchy_", "geometric_", "log_normal_", "erfinv_",
):  # fmt: skip
    setattr(MetaTensor, _name, _unwritten)
