"""What this package is built with: nothing is compiled, so it is Python and NumPy with its library of matrices."""

from __future__ import annotations


def show() -> str:
    """Python, NumPy and the library that computes its products, a line each."""
    import platform

    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index, call-overload, unused-ignore]
    lines = ["retrograd built with:", f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    return "".join(
        f"  - {line}\n" if i else f"{line}\n" for i, line in enumerate([*lines, f"{blas['name']} {blas['version']}"])
    )


def parallel_info() -> str:
    """How many threads there are: those of NumPy's library, which the environment sets."""
    import os

    asked = os.environ.get("OMP_NUM_THREADS", "not set")
    return f"OMP_NUM_THREADS: {asked}\nprocessors: {os.cpu_count()}\n"
