"""``torch.fft``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_argument import Out, created_into
from ....calls.refusals import refuse
from ....core.dtypes import get_default_dtype, scalar_name
from ....core.registry import F
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim, dims_given
from ...creation.functions.creating import finish, numpy_of

Dims = tuple[int, ...]
_WIDER = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def _promoted(x: Any, name: str, *, to_complex: bool) -> Any:
    """Floating or complex, as the transform needs."""
    check_tensor(name, x)
    narrow = x._sig.kind == "f" and x._sig.numpy.itemsize < 4
    refuse(narrow, f"Unsupported dtype {scalar_name(x._sig.numpy)}")
    if x._sig.kind not in "fc":
        x = F._to_copy(x, get_default_dtype().numpy)
    if to_complex and x._sig.kind != "c":
        x = F._to_copy(x, _WIDER[x._sig.numpy])
    return x


_COMPLEX_INPUT = {
    "rfftn": "{} expects a real-valued input tensor, but got {}",
    "ihfftn": "{} only supports floating-point dtypes, but found: {}",
}
"""What functions of real inputs say of complex ones, if not the usual words."""


def _real_only(x: Any, name: str) -> Any:
    check_tensor(name, x)
    words = _COMPLEX_INPUT.get(name, "{} expects a real input tensor, but got {}")
    refuse(x._sig.kind == "c", words.format(name, scalar_name(x._sig.numpy)))
    return _promoted(x, name, to_complex=False)


def _normalization(norm: str | None, forward: bool) -> int:
    """0: none, 1: root of n, 2: n."""
    modes = {None: 0 if forward else 2, "backward": 0 if forward else 2, "forward": 2 if forward else 0, "ortho": 1}
    refuse(norm not in modes, f'Invalid normalization mode: "{norm}"')
    return modes[norm]


def _resized(x: Any, dims: Dims, sizes: Dims) -> Any:
    """The first ``sizes`` elements of each transformed dimension, zeros where there are fewer."""
    pad = [0] * (2 * x.ndim)
    for dim, n in zip(dims, sizes, strict=True):
        if n == -1:
            _check_size(x, dim)
            continue
        refuse(n < 1, f"Invalid number of data points ({n}) specified")
        have = x.shape[dim]
        if n < have:
            x = F._slice(x, dim, 0, n, 1)
        elif n > have:
            pad[2 * (x.ndim - 1 - dim) + 1] = n - have
    return F.constant_pad_nd(x, tuple(pad), 0) if any(pad) else x


def _check_size(x: Any, dim: int) -> None:
    refuse(x.shape[dim] < 1, f"Invalid number of data points ({x.shape[dim]}) specified")


def _one_dim(x: Any, n: int | None, dim: int) -> tuple[Any, int]:
    if x.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    axis = checked_dim(dim, x.ndim)
    if n is not None:
        refuse(n < 1, f"Invalid number of data points ({n}) specified")
        x = _resized(x, (axis,), (n,))
    _check_size(x, axis)
    return x, axis


# -- one dimension


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The discrete Fourier transform along one dimension."""
    x, axis = _one_dim(_promoted(input, "fft", to_complex=False), n, dim)
    if x._sig.kind == "c":
        return F._fft_c2c(x, (axis,), _normalization(norm, True), True)
    return F._fft_r2c(x, (axis,), _normalization(norm, True), False)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse transform along one dimension."""
    x, axis = _one_dim(_promoted(input, "ifft", to_complex=False), n, dim)
    if x._sig.kind == "c":
        return F._fft_c2c(x, (axis,), _normalization(norm, False), False)
    return F.conj(F._fft_r2c(x, (axis,), _normalization(norm, False), False))


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The first half of the spectrum of a real signal."""
    x, axis = _one_dim(_real_only(input, "rfft"), n, dim)
    return F._fft_r2c(x, (axis,), _normalization(norm, True), True)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of ``hfft``."""
    x, axis = _one_dim(_real_only(input, "ihfft"), n, dim)
    return F.conj(F._fft_r2c(x, (axis,), _normalization(norm, False), True))


def _half_to_real(x: Any, n: int | None, dim: int, norm: str | None, *, forward: bool) -> Any:
    if x.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    axis = checked_dim(dim, x.ndim)
    last = 2 * (x.shape[axis] - 1) if n is None else n
    refuse(last < 1, f"Invalid number of data points ({last}) specified")
    if n is not None:
        refuse(n < 1, f"Invalid number of data points ({n}) specified")
        x = _resized(x, (axis,), (last // 2 + 1,))
    x = F.conj(x) if forward else x
    return F._fft_c2r(x, (axis,), _normalization(norm, forward), last)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The real signal of half a spectrum."""
    return _half_to_real(_promoted(input, "irfft", to_complex=True), n, dim, norm, forward=False)


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The real spectrum of a signal of which half is given, the other half being its conjugate."""
    return _half_to_real(_promoted(input, "hfft", to_complex=True), n, dim, norm, forward=True)


# -- several dimensions


def _dims_and_sizes(x: Any, s: Any, dim: Any) -> tuple[Dims, Dims]:
    """The dimensions to transform and their sizes (-1: as they are)."""
    sizes = None if s is None else tuple(int(n) for n in ((s,) if isinstance(s, int) else s))
    if dim is not None:
        given = dims_given(dim)
        if given and not x.ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        dims = tuple(checked_dim(d, x.ndim) for d in given)
        refuse(len(set(dims)) != len(dims), "FFT dims must be unique")
    elif sizes is None:
        dims = tuple(range(x.ndim))
    else:
        refuse(
            len(sizes) > x.ndim,
            f"Got shape with {len(sizes)} values but input tensor only has {x.ndim} dimensions.",
        )
        dims = tuple(range(x.ndim - len(sizes), x.ndim))
    if sizes is None:
        sizes = (-1,) * len(dims)
    refuse(len(sizes) != len(dims), "When given, dim and shape arguments must have the same length")
    return dims, sizes


def _transform(x: Any, s: Any, dim: Any, norm: str | None, *, forward: bool) -> Any:
    dims, sizes = _dims_and_sizes(x, s, dim)
    x = _resized(x, dims, sizes)
    return F._fft_c2c(x, dims, _normalization(norm, forward), forward)


def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The transform along several dimensions."""
    return _transform(_promoted(input, "fftn", to_complex=True), s, dim, norm, forward=True)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse transform along several dimensions."""
    return _transform(_promoted(input, "ifftn", to_complex=True), s, dim, norm, forward=False)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """Half the spectrum of a real signal of several dimensions."""
    x = _real_only(input, "rfftn")
    dims, sizes = _dims_and_sizes(x, s, dim)
    refuse(not dims, "rfftn must transform at least one axis")
    return F._fft_r2c(_resized(x, dims, sizes), dims, _normalization(norm, True), True)


def _half_sizes(x: Any, s: Any, dim: Any, name: str) -> tuple[Dims, Dims, int]:
    dims, sizes = _dims_and_sizes(x, s, dim)
    refuse(not dims, f"{name} must transform at least one axis")
    last = 2 * (x.shape[dims[-1]] - 1) if s is None or sizes[-1] == -1 else sizes[-1]
    refuse(last < 1, f"Invalid number of data points ({last}) specified")
    return dims, (*sizes[:-1], last // 2 + 1), last


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The real signal of half a spectrum of several dimensions."""
    x = _promoted(input, "irfftn", to_complex=True)
    dims, sizes, last = _half_sizes(x, s, dim, "irfftn")
    return F._fft_c2r(_resized(x, dims, sizes), dims, _normalization(norm, False), last)


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The real spectrum of a signal of several dimensions of which half is given."""
    x = _promoted(input, "hfftn", to_complex=True)
    dims, sizes, last = _half_sizes(x, s, dim, "hfftn")
    x = _resized(x, dims, sizes)
    mode = _normalization(norm, True)
    if len(dims) > 1:
        x = F._fft_c2c(x, dims[:-1], mode, True)
    return F._fft_c2r(F.conj(x), dims[-1:], mode, last)


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of ``hfftn``."""
    x = _real_only(input, "ihfftn")
    dims, sizes = _dims_and_sizes(x, s, dim)
    refuse(not dims, "ihfftn must transform at least one axis")
    mode = _normalization(norm, False)
    half = F._fft_r2c(_resized(x, dims, sizes), dims[-1:], mode, True)
    if len(dims) == 1:
        return F.conj(half)
    return F._fft_c2c(half.conj_physical(), dims[:-1], mode, False)


def _over_two(whole: Any) -> Any:
    def transform(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:  # noqa: A002
        return whole(input, s, dim, norm)

    transform.__name__ = transform.__qualname__ = whole.__name__[:-1] + "2"
    transform.__doc__ = f"``{whole.__name__}`` over the last two dimensions."
    return transform


for _whole in (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn):
    _how = Out(rows=True, floating=_whole in (irfftn, hfftn))
    public(_whole.__name__, namespace="fft", out=_how)(_whole)
    public(_whole.__name__[:-1] + "2", namespace="fft", out=_how)(_over_two(_whole))
for _single in (fft, ifft, rfft, irfft, hfft, ihfft):
    public(_single.__name__, namespace="fft", out=Out(rows=True, floating=_single in (irfft, hfft)))(_single)


# -- the order of frequencies


def _shift(x: Any, dim: Any, name: str, back: bool) -> Any:
    check_tensor(name, x)
    dims = range(x.ndim) if dim is None else dims_given(dim)
    axes = [checked_dim(d, x.ndim) for d in dims]
    shifts = [(x.shape[a] + 1) // 2 if back else x.shape[a] // 2 for a in axes]
    return x.roll(tuple(shifts), tuple(axes))


@public("fftshift", namespace="fft")
def fftshift(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """Frequency 0 in the middle."""
    return _shift(input, dim, "fftshift", False)


@public("ifftshift", namespace="fft")
def ifftshift(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """The inverse of ``fftshift``."""
    return _shift(input, dim, "ifftshift", True)


def _frequencies(compute: Any) -> Any:
    def frequencies(
        n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        """The frequencies of the elements of a transform, in cycles per unit of ``d``."""
        refuse(n < 0, f"Trying to create tensor with negative dimension {n}: [{n}]")
        made = finish((compute(n) * (1.0 / (n * d) if n else 1.0)).astype(numpy_of(dtype)), requires_grad)
        return created_into(out, made, dtype)

    return frequencies


def _around_zero(n: int) -> Any:
    return np.concatenate((np.arange((n + 1) // 2), np.arange(-(n // 2), 0))).astype(np.float64)


public("fftfreq", namespace="fft")(_frequencies(_around_zero))
public("rfftfreq", namespace="fft")(_frequencies(lambda n: np.arange(n // 2 + 1).astype(np.float64)))
