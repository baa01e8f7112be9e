"""The switches that change how operations are recorded and run."""
