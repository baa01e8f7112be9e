"""Names for devices, mixed precision and compilers, which programs query even where there are none."""
