"""Running the graph: ``backward`` and ``grad``, the full task, the fast sweep, and what a run tells about itself."""
