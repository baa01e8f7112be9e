"""The command line: parses arguments; each command makes one library call."""
