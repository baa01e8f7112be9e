"""One file for each command of ``retrograd``; a module here exposes a click command called ``command``."""
