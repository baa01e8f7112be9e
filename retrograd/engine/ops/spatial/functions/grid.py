"""``grid_sample`` and ``affine_grid``."""

from __future__ import annotations

from typing import Any

from ....calls.refusals import refuse
from ....core.registry import F
from ....overriding.schema_forms import FORMS, Form
from ....table.public import NN, check_tensor, public
from ....warning import warn

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _sample(x: Any, grid: Any, how: tuple[str, str, bool]) -> Any:
    """Sample ``(N, C, *spatial)`` at the points of a grid ``(N, *out, dims)``; raises where the two do not fit."""
    dims = x.ndim - 2
    refuse(
        x.ndim not in (4, 5) or x.ndim != grid.ndim,
        f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
        f"{list(x.shape)} and grid with sizes {list(grid.shape)}",
    )
    refuse(
        x.shape[0] != grid.shape[0],
        f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(x.shape)} "
        f"and grid with sizes {list(grid.shape)}",
    )
    refuse(
        grid.shape[-1] != dims,
        f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with sizes "
        f"{list(grid.shape)}",
    )
    refuse(
        any(n < 1 for n in x.shape[2:]),
        f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(x.shape)}",
    )
    refuse(dims == 3 and how[0] == "bicubic", "grid_sampler(): bicubic interpolation only supports 4D input")
    refuse(
        x.dtype != grid.dtype,
        "grid_sampler(): expected input and grid to have same dtype, but input has "
        f"{x.dtype} and grid has {grid.dtype}",
    )
    return getattr(F, f"_grid_sampler_{dims}d")(x, grid, how)


@public("grid_sample", namespace=NN)
def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The input at the points of a grid, whose coordinates run from -1 to 1."""
    check_tensor("grid_sample", input)
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    _warn_of_default(align_corners)
    return _sample(input, grid, (mode, padding_mode, bool(align_corners)))


def _shown(input: Any, grid: Any, how: tuple[str, str, bool]) -> tuple[Any, ...]:  # noqa: A002
    mode, padding, align_corners = how
    return input, grid, _MODES.index(mode), _PADDINGS.index(padding), align_corners


def _taken(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> tuple[Any, ...]:  # noqa: A002
    return input, grid, (_MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


for _dims in (2, 3):
    FORMS[f"_grid_sampler_{_dims}d"] = Form(_shown, _taken)


def _warn_of_default(align_corners: Any) -> None:
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details."
        )


def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool  # noqa: A002
) -> Any:  # fmt: skip
    """``grid_sample`` with numbered modes."""
    check_tensor("grid_sampler", input)
    return _sample(input, grid, (_MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners))


for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):
    public(_name, method=False)(grid_sampler)


def _affine(theta: Any, size: Any, align: bool) -> Any:
    """The grid ``(N, *spatial, dims)`` of affine maps ``(N, dims, dims + 1)``; raises for other shapes."""
    wanted = tuple(int(n) for n in size)
    if len(wanted) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{wanted}."
        )
    dims = len(wanted) - 2
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(wanted)}. Got "
            f"{list(theta.shape)}."
        )
    return F._affine_grid(theta, wanted, align)


@public("affine_grid", namespace=NN)
def affine_grid(theta: Any, size: Any, align_corners: Any = None) -> Any:
    """The points of a result of ``size`` mapped by ``theta``, for ``grid_sample``."""
    check_tensor("affine_grid", theta, 1, "theta")
    if theta._sig.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    _warn_of_default(align_corners)
    return _affine(theta, size, bool(align_corners))


@public("affine_grid_generator", method=False)
def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """``nn.functional.affine_grid``."""
    check_tensor("affine_grid_generator", theta, 1, "theta")
    return _affine(theta, size, align_corners)
