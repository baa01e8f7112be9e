"""The recording as checks ask it: calls, runs, steps, values."""
