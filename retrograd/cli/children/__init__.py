"""Records the processes that a program starts, each into a file of its own."""
