"""Relations over a recording, computed once: calls, leaves, passes, steps, values."""
