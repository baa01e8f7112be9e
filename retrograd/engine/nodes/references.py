"""Reference counts of objects, used where the count shows whether anyone else holds an object."""

from __future__ import annotations

import sys


def never_alone(_: object) -> int:
    """Stand in for ``sys.getrefcount``: whatever it is asked about has other holders, so it is copied, not taken."""
    return sys.maxsize


# From 3.14 on a local variable lends its reference to the call instead of counting one more, so the numbers that the
# callers compare with would take what the program holds for free.
getrefcount = sys.getrefcount if sys.version_info < (3, 14) else never_alone
