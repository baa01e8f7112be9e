"""Names of leaves and roots, from modules and from the variables of the user's frames."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

import pytest

import retrograd as rg
from retrograd.inspect import walk
from retrograd.inspect.program.frames import read_locals, user_frames
from retrograd.inspect.program.names import parameter_names

GLOBAL_WEIGHT = rg.ones(1, requires_grad=True)


def leaf_names(snapshot):
    """Names of the leaves of a graph."""
    return {name for name, kind in zip(snapshot.name, snapshot.kind, strict=True) if kind == "leaf"}


def leaf():
    """A fresh leaf."""
    return rg.ones(1, requires_grad=True)


def test_variables_and_what_they_hold():
    """Lists, tuples, dicts and attributes are named as one would write them."""
    params = [leaf(), (leaf(), leaf())]
    w = {"w1": leaf(), 2: leaf(), ("no", "name"): leaf()}
    net = SimpleNamespace(weight=leaf(), layers=[leaf()])
    bare = leaf()
    loss = params[0] * params[1][0] * params[1][1] * w["w1"] * w[2] * net.weight * net.layers[0] * bare * GLOBAL_WEIGHT

    assert leaf_names(walk(loss)) == {
        "params[0]",
        "params[1][0]",
        "params[1][1]",
        'w["w1"]',
        "w[2]",
        "net.weight",
        "net.layers[0]",
        "bare",
        "GLOBAL_WEIGHT",
    }


def test_nearest_and_shortest_name_wins():
    """The innermost frame's variable comes before the outer one's, a variable before an element."""
    holder = [leaf()]

    def inner(plain):
        return walk((plain * 2).sum())

    assert leaf_names(inner(holder[0])) == {"plain"}
    assert leaf_names(walk((holder[0] * 2).sum())) == {"holder[0]"}


def test_self():
    """An attribute of self is named as the method names it."""

    class Model:
        def __init__(self):
            self.weight = leaf()

        def picture(self):
            return walk((self.weight * 2).sum())

    assert leaf_names(Model().picture()) == {"self.weight"}


def test_modules_come_first():
    """A parameter's name in its module goes before a variable; several modules put their names in front."""

    class Linear:
        def __init__(self):
            self.weight = leaf()

        def named_parameters(self):
            yield "weight", self.weight

    encoder = Linear()
    alias = encoder.weight
    assert leaf_names(walk(alias * 2)) == {"weight"}

    decoder = Linear()
    assert leaf_names(walk(encoder.weight * decoder.weight)) == {"encoder.weight", "decoder.weight"}


def test_scopes_of_parameters():
    """A parameter's scope is its module's path."""

    class Net:
        def named_parameters(self):
            yield "layers.0.weight", GLOBAL_WEIGHT

    names = parameter_names([("net", Net())], {id(GLOBAL_WEIGHT)})

    assert list(names.values()) == [("layers.0.weight", "net/layers/0")]


def test_hostile_program():
    """Objects that raise from everything they can are passed over without being asked."""

    class Hostile(dict):
        def __getattr__(self, name):
            raise AssertionError(name)

        def __iter__(self):
            raise AssertionError("iterated")

        def items(self):
            raise AssertionError("items")

        def __eq__(self, other):
            raise AssertionError("compared")

        __hash__ = None

        @property
        def surprise(self):
            raise AssertionError("property")

    class Module:
        def named_parameters(self):
            raise RuntimeError("not initialised")

    hostile, module = Hostile(w=leaf()), Module()
    snapshot = walk(hostile["w"] * 2)

    assert leaf_names(snapshot) == {'hostile["w"]'}
    assert module is not None


def test_hostile_names_are_quoted():
    """A dict key with quotes and line breaks is written as a string literal."""
    w = {'a"]\n<b>': leaf()}

    assert leaf_names(walk(w['a"]\n<b>'] * 2)) == {'w["a\\"]\\n<b>"]'}


def test_cycles_and_large_containers_end():
    """A container that holds itself, and one with a million elements, do no harm."""
    ring: list[object] = []
    ring.append(ring)
    many = list(range(1_000_000))
    weight = leaf()

    def unnamed():
        return rg.ones(1, requires_grad=True) * 2

    assert leaf_names(walk(unnamed() * weight)) == {None, "weight"}
    assert len(many) == 1_000_000


def test_names_can_be_left_out():
    """With find_names=False no frame is read."""
    weight = leaf()

    assert leaf_names(walk(weight * 2, find_names=False)) == {None}


def test_reading_locals_holds_nothing():
    """Looking at a frame's variables does not make the frame hold them, nor empty a dict the user has."""
    gc.disable()
    try:
        thing = leaf()
        gone = weakref.ref(thing)
        assert read_locals(sys._getframe())["thing"] is thing
        del thing
        assert gone() is None
    finally:
        gc.enable()
    mine = locals()
    read_locals(sys._getframe())
    assert "gone" in mine


@pytest.mark.parametrize("event", ["call", "c_call", "return"])
def test_reading_locals_in_a_profile_function_leaves_the_variables(event):
    """A function given to `sys.setprofile` may walk a graph: the frame that it is called for keeps its variables."""

    def profiled(one):
        two = leaf()
        abs(1)
        three = leaf()
        return one, two, three

    def watch(frame, what, _argument):
        if frame.f_code is profiled.__code__ and what == event:
            read_locals(frame)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        results = profiled(leaf())
    finally:
        sys.setprofile(before)

    assert [type(result) for result in results] == [rg.Tensor] * 3


@pytest.mark.parametrize("name", ["loss", "y"])
def test_roots_and_intermediates(name):
    """The root and an intermediate result carry the names of their variables."""
    x = leaf()
    y = x * 2
    loss = y.exp()

    snapshot = walk(loss)

    assert snapshot.root_names == ["loss"]
    assert name in snapshot.name


def test_made_up_variables_are_no_names():
    """Variables that a tool puts into a frame under impossible names (pytest's ``@py_assert1``) are passed over."""
    weight = leaf()
    code = compile("picture = walk(weight * 2)", "<made up>", "exec")
    namespace = {"@weight": weight, "walk": walk, "weight": weight}
    exec(code, namespace)

    assert leaf_names(namespace["picture"]) == {"weight"}


def test_what_runs_the_program_is_not_looked_through():
    """pytest stands below this function on the stack, and its variables hold every test of the session."""
    here, *below = [frame.f_code.co_filename for frame in user_frames(sys._getframe())]
    assert here == __file__
    assert set(below) <= {"<string>"}  # the command by which execnet starts a worker of xdist
