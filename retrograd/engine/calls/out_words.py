"""What PyTorch says of an ``out=`` whose dtype cannot take a result: several functions have a sentence of their own."""

from __future__ import annotations

_BOOLEAN = "{name} does not support non-boolean outputs."
_ALL = "{name} only supports bool tensor for result, got: {have}"
_SAME = "{name}(): self and result must have the same scalar type"
_COMPLEX = "Expected object of scalar type {want} but got scalar type {have} for argument 'out'"
_JOINED = "torch.cat(): input types can't be cast to the desired output type {have}"
_EIGEN = (
    "torch.linalg.{name}: Expected eigenvalues to be safely castable from {want} dtype, but got eigenvalues with "
    "dtype {have}"
)
_SPECTRUM = "{name} expects a complex output tensor, but got {have}"
_SIGNAL = "{name} expects a floating point output tensor, but got {have}"
_SEARCHED = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True"
)
_QUANTILE = "quantile() out tensor must be same dtype as the input tensor"
_EXTREME = "Expected the dtype for input and out to match, but got {want} for input's dtype and {have} for out's dtype."
_SENTENCES = {
    "all": _ALL, "any": _ALL, "isneginf": _BOOLEAN, "isposinf": _BOOLEAN, "signbit": _BOOLEAN,
    "index_select": _SAME, "masked_select": _SAME, "kthvalue": "output values must be of same type as input",
    "quantile": _QUANTILE, "nanquantile": _QUANTILE, "complex": _COMPLEX, "polar": _COMPLEX,
    "eig": _EIGEN, "eigvals": _EIGEN, "bucketize": _SEARCHED, "searchsorted": _SEARCHED,
    "float_power": "the output given to {name} has dtype {have} but the operation's result requires dtype {want}",
    "amax": _EXTREME, "amin": _EXTREME,
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "matrix_norm": "linalg.matrix_norm expected out tensor dtype {want} but got: {have}",
    "vecdot": "linalg.vecdot: Expected out of dtype{want} but found {have}",
    "fft": _SPECTRUM, "ifft": _SPECTRUM, "rfft": _SPECTRUM, "ihfft": _SPECTRUM, "fftn": _SPECTRUM, "ifftn": _SPECTRUM,
    "rfftn": _SPECTRUM, "ihfftn": _SPECTRUM, "irfft": _SIGNAL, "hfft": _SIGNAL, "irfftn": _SIGNAL, "hfftn": _SIGNAL,
    "irfft2": _SIGNAL, "hfft2": _SIGNAL,
}  # fmt: skip
_JOINING = frozenset(
    {"cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack", "dstack", "column_stack"}
)


def refused_dtype(name: str, have: str, want: str, usual: str) -> Exception:
    """The error for an ``out=`` of the dtype ``have`` where a function gives ``want``; ``usual`` is what most say."""
    if name in _JOINING:
        return TypeError(_JOINED.format(have=have))
    return RuntimeError(_SENTENCES.get(name, usual).format(name=name, have=have, want=want))
