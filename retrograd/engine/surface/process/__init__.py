"""Settings of the process, saving and loading."""
