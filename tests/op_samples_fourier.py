"""Samples of ``torch.fft``."""

from __future__ import annotations

from op_samples import Sample, calls, cplx, ints, real

FFT = "fft."


def names(text: str) -> str:
    """The functions under their namespace."""
    return " ".join(FFT + name for name in text.split())


def every_norm(text: str, *arguments: object) -> list[Sample]:
    """All normalisations."""
    return calls(names(text), *([*arguments, {"norm": norm}] for norm in ("forward", "backward", "ortho")), note="norm")


SAMPLES = [
    *calls(
        names("fft ifft irfft hfft"),
        [real(2, 5)], [cplx(2, 6)], [cplx(3, 2, 5), 4, 1], [real(3, 4), 7], [cplx(4), 3], [real(2, 6)[:, ::2]],
    ),
    *calls(names("rfft ihfft"), [real(2, 5)], [real(2, 6)], [real(3, 2, 5), 4, 1], [real(3, 4), 7], [real(4), 3]),
    *calls(
        names("fftn ifftn irfftn hfftn fft2 ifft2 irfft2 hfft2"),
        [real(2, 3, 4)], [cplx(2, 3, 4)], [cplx(2, 3, 4), (4, 3)], [real(3, 4), (2, 5), (0, 1)],
        [cplx(3, 4, 2), None, (-1, 0)],
    ),
    *calls(
        names("rfftn ihfftn rfft2 ihfft2"),
        [real(2, 3, 4)], [real(2, 3, 5)], [real(2, 3, 4), (4, 3)], [real(3, 4), (2, 5), (0, 1)],
        [real(3, 4, 2), None, (-1, 0)],
    ),
    *calls(names("fftn ifftn irfftn hfftn"), [cplx(3, 4), None, (0,)], [cplx(3, 4), (5, 6, )], note="dims"),
    *every_norm("fft ifft irfft hfft", cplx(2, 5), None, -1),
    *every_norm("rfft ihfft", real(2, 5), None, -1),
    *every_norm("fft2 ifft2 irfft2 hfft2", cplx(2, 3, 4), None, (0, 1)),
    *every_norm("rfft2 ihfft2", real(2, 3, 4), None, (0, 1)),
    *calls(names("fft rfft ifft ihfft irfft fft2"), [ints(3, 4)], note="integers"),
    *calls(names("fftshift ifftshift"), [real(5)], [cplx(3, 4)], [real(3, 4), 1], [real(3, 4, 5), (0, 2)]),
    *calls(names("fftfreq rfftfreq"), [5], [6, 0.5], variants=False),
]  # fmt: skip
