"""How a user's line spells what runs at it, told from a running frame."""

from __future__ import annotations

import sys

from retrograd.inspect.program.spelling import is_name, spelling_at

SEEN = []


class Watched:
    """Notes how each operation on it is spelled."""

    def note(self, *args, **kwargs):
        """Any operation."""
        SEEN.append(spelling_at(sys._getframe(1)))
        return self

    __add__ = __iadd__ = __radd__ = __getitem__ = __neg__ = __matmul__ = __lt__ = method = note

    def __setitem__(self, index, value):
        SEEN.append(spelling_at(sys._getframe(1)))

    @property
    def data(self):
        """An attribute."""
        return self.note() if False else Watched.note(self) if SEEN is None else self._look(sys._getframe(1))

    def _look(self, frame):
        SEEN.append(spelling_at(frame))
        return self


def spelled(run):
    """What one piece of code was seen to do."""
    SEEN.clear()
    run()
    return [(one.form, one.operands, one.targets) for one in SEEN]


x, weights = Watched(), {"gate": Watched()}


def test_operators_and_targets():
    """Operands of operators as written, and what the result is assigned to."""

    def run():
        h = x + weights["gate"]
        h += x
        a, b = -h, h @ x
        return (c := a) is b and c + a

    assert spelled(run) == [
        ("BinOp", ("x", "weights['gate']"), ("h",)),
        ("AugAssign", ("h", "x"), ("h",)),
        ("UnaryOp", ("h",), ("a",)),
        ("BinOp", ("h", "x"), ("b",)),
        ("BinOp", ("c", "a"), ()),
    ]


def test_items():
    """Reading, writing and changing an entry."""

    def run():
        row = x[0]
        x[1] = row
        x[2] += row

    assert spelled(run) == [
        ("Subscript", ("x", "0"), ("row",)),
        ("Subscript", ("x", "1", "row"), ()),
        ("Subscript", ("x", "2", "x[2]"), ()),
        ("AugAssign", ("x[2]", "row"), ("x[2]",)),
        ("Subscript", ("x", "2", "x[2]"), ()),
    ]


def test_calls():
    """Receiver, operands, entries of lists, keywords, starred arguments, calls over several lines."""

    def run():
        # fmt: off
        y = (x
             .method(x, [x, weights["gate"]], dim=1)
             .method(*[x], x))
        # fmt: on
        return y.data

    SEEN.clear()
    run()

    assert [(one.form, one.receiver) for one in SEEN[:1]] == [("method", "x")]
    assert SEEN[0].parts == {1: ("x", "weights['gate']")}
    assert SEEN[0].keywords == {"dim": "1"}
    assert (SEEN[1].operands, SEEN[1].targets) == ((), ("y",))
    assert (SEEN[2].form, SEEN[2].operands) == ("data", ("y",))


def test_without_source():
    """Code that has no source says nothing."""
    SEEN.clear()
    exec(compile("x + x", "<nowhere>", "exec"), {"x": x})

    assert (SEEN[0].form, SEEN[0].operands) == ("", ())


def test_names():
    """Variables, attributes and fixed entries are names; computed ones are not."""
    good = ["h", "self.weight", "fast['gate']", "layers[0].weight"]
    bad = ["h @ w", "p[i]", "f(x)", "2", "", "h @", "x\0"]

    assert [is_name(text) for text in good + bad] == [True] * 4 + [False] * 7
