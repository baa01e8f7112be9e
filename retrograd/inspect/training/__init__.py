"""Watching a training run: statistics of every step in bounded memory, and the evidence when something goes wrong.

``watch`` (in ``run``) is what users call. ``engines/`` reads the statistics of one step, a file for each engine;
``history`` keeps them; ``triggers`` has a row for each thing that may go wrong; ``black_box`` then saves the state,
with the step repeated by ``replay``; ``watched_file`` is the file of a run.
"""
