"""The workloads of ``engine_speed.py``: their data, and one file per way to write them.

A contender is a module with ``make(name, data, precision)`` for the workloads it can express.  It returns a function
for one step: it computes forward, calls its argument once, computes the gradients and returns them as NumPy arrays in
the order of the workload.
"""
