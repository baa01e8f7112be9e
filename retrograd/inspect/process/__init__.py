"""Watches the process that runs the program: begins and ends a recording, and sees children, forks and late imports."""
