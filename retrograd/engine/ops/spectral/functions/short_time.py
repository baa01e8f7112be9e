"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.base import wrap
from ....core.registry import F
from ....table.public import FUNCTIONS, NAMESPACES, NN, check_tensor, public
from ....warning import warn_once

_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied{}To suppress this warning and use a rectangular "
    "window, explicitly set `window=torch.ones(n_fft)`."
)

_NO_FORM = (
    "stft requires the return_complex parameter be given for real inputs, and will further require that "
    "return_complex=True in a future PyTorch release."
)


def _window(window: Any, win_length: int, n_fft: int, numpy: Any) -> Any:
    """The window, with zeros on both sides up to ``n_fft``; ``None`` where there is nothing to multiply by."""
    refuse(
        window is not None and (window.ndim != 1 or window.shape[0] != win_length),
        f"expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
        f"{list(getattr(window, 'shape', ()))}",
    )
    if win_length == n_fft:
        return window
    wide = wrap(np.zeros(n_fft, numpy if window is None else window._sig.numpy))
    middle = F._slice(wide, 0, (n_fft - win_length) // 2, (n_fft - win_length) // 2 + win_length, 1)
    if window is None:
        middle.fill_(1)
    else:
        middle.copy_(window)
    return wide


@public("stft")
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,  # noqa: A002
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """Spectra of overlapping windows of a signal: ``(..., frequency, frame)``."""
    check_tensor("stft", input)
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    refuse(return_complex is None and not is_complex, _NO_FORM)
    _check_hops(input, hop, width, n_fft)
    if window is None:
        warn_once(_NO_WINDOW.format(
            ",which is known to cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage."
        ))  # fmt: skip
    x = _extended(input, n_fft // 2, pad_mode) if center else input
    x = F.unsqueeze(x, 0) if input.ndim == 1 else x
    refuse(not 0 < n_fft <= x.shape[1], f"stft: expected 0 < n_fft < {x.shape[1]}, but got n_fft={n_fft}")
    batch, time = x.stride()
    frames = x.as_strided((x.shape[0], 1 + (x.shape[1] - n_fft) // hop, n_fft), (batch, hop * time, time))
    window = _window(window, width, n_fft, _real_of(x._sig.numpy))
    frames = frames if window is None else frames * window
    out = _spectra(frames, normalized, not is_complex if onesided is None else onesided).transpose_(1, 2)
    out = out.squeeze_(0) if input.ndim == 1 else out
    return F.view_as_real(out) if return_complex is not None and not return_complex else out


def _check_hops(signal: Any, hop: int, width: int, n_fft: int) -> None:
    """``RuntimeError`` unless windows of this width can go over a signal in such hops."""
    refuse(signal.ndim not in (1, 2), f"stft: expected a 1D or 2D tensor, but got {signal.ndim}D")
    refuse(hop <= 0, f"stft: expected hop_length > 0, but got hop_length={hop}")
    refuse(not 0 < width <= n_fft, f"stft: expected 0 < win_length <= n_fft, but got win_length={width}")


def _extended(x: Any, by: int, pad_mode: str) -> Any:
    """Signals ``(N, time)`` or ``(time,)`` with more at both ends, so that frames are centered on their times."""
    padded = NAMESPACES[NN]["pad"](F._view(x, (*(1,) * (3 - x.ndim), *x.shape)), (by, by), pad_mode)
    return F._view(padded, tuple(padded.shape[3 - x.ndim :]))


def _real_of(numpy: Any) -> Any:
    return np.empty(0, numpy).real.dtype


def _spectra(frames: Any, normalized: bool, onesided: bool) -> Any:
    mode = 1 if normalized else 0
    if frames.is_complex():
        refuse(onesided, "Cannot have onesided output if window or input is complex")
        return F._fft_c2c(frames, (2,), mode, True)
    return F._fft_r2c(frames, (2,), mode, onesided)


def _frames(spectra: Any, n_fft: int, mode: int, onesided: bool, return_complex: bool) -> Any:
    """The frames ``(N, count, n_fft)`` of which ``_spectra`` are the spectra."""
    if return_complex:
        return F._fft_c2c(spectra, (2,), mode, False)
    half = spectra if onesided else F._slice(spectra, 2, 0, n_fft // 2 + 1, 1)
    return F._fft_c2r(half, (2,), mode, n_fft)


def _overlapped(frames: Any, n_fft: int, hop: int) -> Any:
    """Frames ``(N, count, n_fft)`` summed up where they overlap: ``(N, time)``."""
    time = n_fft + hop * (frames.shape[1] - 1)
    return F._unfold_backward(frames, (frames.shape[0], time), 1, n_fft, hop)


@public("istft")
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,  # noqa: A002
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    """The inverse of ``stft``: the signal that has these spectra."""
    check_tensor("istft", input)
    refuse(
        not input.is_complex(),
        f"istft requires a complex-valued input tensor matching the output from stft with return_complex=True, but "
        f"got {input.dtype}",
    )
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    refuse(not 0 < hop <= width, f"istft: expected 0 < hop_length <= win_length, but got {hop} and {width}")
    x = FUNCTIONS["view_as_real"](input.resolve_conj())
    x = F.unsqueeze(x, 0) if input.ndim == 2 else x
    onesided = x.shape[1] != n_fft if onesided is None else onesided
    _check_frequencies(x.shape[1], n_fft, onesided)
    if window is None:
        warn_once(_NO_WINDOW.format(".Please provide the same window used by stft to make the inversion lossless."))
    weights = _window(window, width, n_fft, x._sig.numpy)
    weights = wrap(np.ones(n_fft, x._sig.numpy)) if weights is None else weights
    spectra = FUNCTIONS["view_as_complex"](F.transpose(x, 1, 2))
    frames = _frames(spectra, n_fft, 1 if normalized else 2, onesided, return_complex)
    signal = _overlapped(frames * F._view(weights, (1, 1, n_fft)), n_fft, hop)
    squares = weights.pow(2).expand(1, x.shape[2], n_fft)
    envelope = _overlapped(squares, n_fft, hop)
    return _trimmed(signal, envelope, (n_fft // 2 if center else 0, length, center), input.ndim == 2)


def _check_frequencies(count: int, n_fft: int, onesided: bool) -> None:
    """``RuntimeError`` unless spectra have as many frequencies as those of ``n_fft`` samples."""
    refuse(
        count != (n_fft // 2 + 1 if onesided else n_fft),
        f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
        f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={onesided}, but got {count}",
    )


def _trimmed(signal: Any, envelope: Any, how: tuple[int, Any, bool], single: bool) -> Any:
    start, length, center = how
    time = signal.shape[1]
    end = start + length if length is not None else time - start if center else time
    signal, envelope = (F._slice(x, 1, start, min(end, time), 1) for x in (signal, envelope))
    lowest = float(np.min(np.abs(envelope._array), initial=np.inf))
    refuse(lowest < 1e-11, f"window overlap add min: {lowest} is too close to 0; use a window that covers every sample")
    out = signal / envelope
    if end > time:
        out = F.constant_pad_nd(out, (0, end - time), 0)
    return F._squeeze_dim(out, 0) if single else out
