"""Attributes of tensors that cannot be set, deleted or found, and small objects that they hold, as in PyTorch."""

from __future__ import annotations

import io
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises

import retrograd

READ_ONLY = ("is_leaf", "grad_fn", "shape", "dtype", "device", "_version", "_base", "T", "output_nr", "layout", "ndim")


@differential
def test_read_only(torch: Any) -> Any:
    """V-05, V-06, V-07: setting or deleting what autograd keeps is refused with PyTorch's key phrase."""
    t = torch.ones(2, requires_grad=True)
    set_ = [raises("is not writable", setattr, t, name, 3) for name in READ_ONLY]
    deleted = [raises("is not writable", delattr, t, name) for name in READ_ONLY]
    kept = [raises("Deleting tensor data", delattr, t, "data"), raises("must be a bool", delattr, t, "requires_grad")]
    return [set_, deleted, kept]


@differential
def test_own_attributes(torch: Any) -> Any:
    """A user's attributes come and go; what is absent is absent to hasattr and getattr."""
    t = torch.ones(2)
    before = [hasattr(t, "note"), hasattr(t, "_note"), getattr(t, "note", 3)]
    t.note = 5
    held = t.note
    del t.note
    return [before, held, hasattr(t, "note"), raises("has no attribute 'note'", getattr, t, "note")]


def test_typos_name_the_nearest(tmp_path: Path) -> None:
    """A misspelt method is answered with the nearest name under the traceback, by Python itself."""
    program = tmp_path / "typo.py"
    program.write_text("import retrograd\nretrograd.ones(2).backwards()\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert "has no attribute 'backwards'. Did you mean: 'backward'?" in done.stderr


@differential
def test_hooks_and_layouts(torch: Any) -> Any:
    """The table of post-accumulate hooks, layouts and memory formats as objects, modes and long tensors as text."""
    t = torch.ones(2, requires_grad=True)
    none = t._post_accumulate_grad_hooks
    t.register_post_accumulate_grad_hook(lambda leaf: None)
    switched = torch.set_grad_enabled(True)
    return [
        none, len(t._post_accumulate_grad_hooks), repr(t.layout), t.layout == torch.strided, repr(torch.channels_last),
        isinstance(torch.channels_last, torch.memory_format), isinstance(t.layout, torch.layout), repr(switched),
        repr(torch.arange(2000)),
    ]  # fmt: skip


@differential
def test_variable(torch: Any) -> Any:
    """The old class: nothing given, a name, whole numbers that cannot require grad."""
    variable = torch.autograd.Variable
    return [
        variable(), variable(torch.ones(2), name="x").name,
        raises("Only Tensors of floating point", variable, torch.ones(2).long(), requires_grad=True),
    ]  # fmt: skip


@differential
def test_version_error_names_the_copy(torch: Any) -> Any:
    """V-51: a value changed through a view is said to come from ``torch::autograd::CopySlices``."""
    t = torch.ones(2, requires_grad=True).clone()
    y = t * t
    t[0] = 3
    return raises("which is output 0 of torch::autograd::CopySlices", y.sum().backward)


@differential
def test_parts_of_complex_tensors(torch: Any) -> Any:
    """V-41: assigning ``real`` or ``imag`` writes in place, with history, through the view."""
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    y = z * 1
    y.imag = x * 3
    y.abs().sum().backward()
    plain = torch.ones(2)
    plain.real = torch.zeros(2)
    return [y, y.grad_fn.name(), z.grad, x.grad, plain, y._version]


@differential
def test_shared_memory_survives_saving(torch: Any) -> Any:
    """Tensors that share memory share it again after ``save`` and ``load``, each at its place."""
    base = torch.arange(6.0)
    kept = [base, base[1:4], base.view(2, 3).t(), base[::2]]
    file = io.BytesIO()
    torch.save(kept, file)
    file.seek(0)
    again, alone = torch.load(file), pickle.loads(pickle.dumps(base[1:4]))
    again[0][2] = 9
    return [*again, again[2].stride(), again[1].storage_offset(), alone, alone.storage_offset()]


@differential
def test_paths_of_trees(torch: Any) -> Any:
    """Leaves with the keys that lead to them."""
    trees, tree = torch.utils._pytree, {"a": [1, (2, 3)], "b": 4}
    mapped = trees.tree_map_with_path(lambda path, x: f"{trees.keystr(path)}={x}", tree)
    return [mapped, repr(trees.tree_flatten_with_path(tree)[0]), repr(trees.tree_leaves_with_path([5]))]


SIZES = """
Size([tensor(3), 2])
Size([tensor([3])])
Size((1.5,))
Size([True])
Size("ab")
Size([1, None])
Size([tensor(3.0)])
Size([1, 2]) * 2
2 * Size([1, 2])
(1,) + Size([2])
Size([2]) + (1,)
Size([2]) + [1]
[1] + Size([2])
Size([2]) + (1.5,)
Size([1, 2, 3])[::2]
Size([]).numel()
""".strip().splitlines()


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    """What a ``Size`` is made of, and what becomes of it; only integers are sizes."""

    def program(engine: Any) -> Any:
        found = eval(text, {"Size": engine.Size, "tensor": engine.tensor})
        return [repr(found), type(found).__name__]

    assert_agree(program, phrase="torch.Size() takes an iterable of 'int'" if "1.5" in text else "")


@differential
def test_reversed(torch: Any) -> Any:
    """``reversed`` turns the first dimension around, like any sequence's; of one number it is that number."""
    sizes = [(), (3,), (2, 3), (2, 2, 2)]
    tensors = [torch.arange(float(math.prod(size))).reshape(size).requires_grad_() for size in sizes]
    return [[reversed(t), reversed(t) is t] for t in tensors]


@differential
def test_sizes_meet_other_classes(torch: Any) -> Any:
    """A size leaves it to other classes how they are added to it, and refuses numbers."""

    class Other:
        def __radd__(self, other: Any) -> Any:
            return ["radd", tuple(other)]

        def __rmul__(self, other: Any) -> Any:
            return "rmul"

    size = torch.Size([1, 2])
    return [
        size + Other(), size * Other(), size + (3,), (3,) + size, size * 2,
        raises("concatenate", lambda: size + [3]), raises("concatenate", lambda: size + 5),
        raises("non-int of type 'float'", lambda: size * 1.5),
    ]  # fmt: skip


@differential
def test_sizes_of_no_dimension_in_particular(torch: Any) -> Any:
    """``dim=None`` asks for all of them."""
    x = torch.ones(2, 3)
    return [x.size(None), x.size(dim=None), x.stride(None), x.stride(dim=None), x.size(dim=1), x.stride(dim=0)]


@differential
def test_old_constructor(torch: Any) -> Any:
    """``new`` takes sizes or data, by place or by name, and data of its own dtype only."""
    x = torch.zeros(1)
    made = [x.new(size=(3, 4)), x.new(3, 4), x.new((3, 4)), x.new(torch.ones(2)), x.new(), x.new(data=[1, 2]),
            x.new(torch.Size([2])), x.new(other=torch.ones(2)), x.new(2, device="cpu")]  # fmt: skip
    return [
        [[t.shape, t.dtype] for t in made], raises("expected", x.new, torch.ones(1).double()),
        raises("must be a sequence", x.new, 1.5), torch.empty(2, 2)[0:0].data_ptr(),
        raises("interpreted as an integer", torch.arange(3).apply_, lambda k: "text"),
    ]  # fmt: skip


@differential
def test_warnings_of_scalars_come_once(torch: Any) -> Any:
    """That a tensor that requires grad becomes a number is said once a process, or each time where all are wanted."""
    torch.set_warn_always(False)
    x = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        float(x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        float(x)
    return len(seen)


def test_names_that_are_listed_are_there() -> None:
    """``dir`` of a tensor gives no name that ``hasattr`` denies."""
    x = retrograd.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = [name for name in dir(x) if name != "imag" and not hasattr(x, name)]
    assert missing == []
    assert "to_mkldnn" not in dir(x)


@differential
def test_empty_windows_beyond_the_memory(torch: Any) -> Any:
    """A window without elements may lie anywhere."""
    window = torch.tensor([1.0]).as_strided((0,), (1,), 2)
    return [window.shape, window.storage_offset()]


@differential
def test_resizing_in_inference_mode(torch: Any) -> Any:
    """There a tensor that requires grad may be resized, as nothing is recorded."""
    with torch.inference_mode():
        x = torch.ones(1, 2, 3, requires_grad=True)
        x.resize_(1, 2)
    return [x.shape, x.requires_grad]
