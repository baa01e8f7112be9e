"""All rows; the first that matches counts."""

from __future__ import annotations

from .of_functions import OF_FUNCTIONS, OF_TRANSFORMS
from .of_passes import OF_BACKWARD, OF_DERIVATIVES, OF_PROCESSES
from .of_setup import OF_SETUP
from .of_tensors import OF_LOSSES, OF_TENSORS, OF_WRITES

ROWS = (
    *OF_SETUP,
    *OF_PROCESSES,
    *OF_BACKWARD,
    *OF_DERIVATIVES,
    *OF_TENSORS,
    *OF_LOSSES,
    *OF_WRITES,
    *OF_FUNCTIONS,
    *OF_TRANSFORMS,
)
