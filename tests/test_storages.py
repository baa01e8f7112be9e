"""Storages, exchange of memory with other libraries, streams of the CPU, and what loading trusts."""

from __future__ import annotations

import copy
import io
import warnings
from functools import partial
from typing import Any

import numpy as np
from both_engines import differential, raises


@differential
def test_bytes_under_tensors(torch: Any) -> Any:
    """Written through a storage, a tensor and all its views change; equal memory is an equal storage."""
    x = torch.arange(4.0)
    s, view = x.untyped_storage(), x.view(2, 2)[1]
    s.fill_(0)
    seen = [
        x.clone(),
        view.clone(),
        s == view.untyped_storage(),
        s == x.clone().untyped_storage(),
        len({s, s.untyped()}),
    ]
    s.copy_(torch.ones(4).untyped_storage())
    s[3] = 64
    other = copy.deepcopy(s)
    return [*seen, x, s.nbytes(), s.size(), s.element_size(), len(s), s.tolist(), s[2:4].tolist(), s.clone() == s,
            repr(s[:2]), other.tolist(), s.cpu() is s, s.untyped() is s, s.is_shared(), s.get_device(), s.device.type,
            s.resize_(16).nbytes() if s.nbytes() == 16 else 0, s.is_cuda, s._cdata == s._cdata,
            raises("out of range for storage of size 16", lambda: s[16]),
            raises("self was 16 bytes but src was 4 bytes", s.copy_, torch.ones(1).untyped_storage())]  # fmt: skip


@differential
def test_storages_of_their_own(torch: Any) -> Any:
    """Made from sizes and bytes, resized, and given to tensors."""
    s = torch.UntypedStorage([0, 0, 128, 63])
    s.resize_(8)[6] = 128
    s[4], s[5], s[7] = 0, 0, 63
    x = torch.tensor([]).set_(s, 0, (2,))
    corner = torch.zeros(0).set_(torch.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1))
    x[0] = 5
    return [x, s.tolist()[:4], corner, torch.UntypedStorage(3).nbytes(), torch.is_storage(s),
            torch.UntypedStorage().size(), raises("from a sequence (str)", torch.UntypedStorage, "a"),
            raises("invalid combination of arguments", torch.UntypedStorage, 2, 3)]  # fmt: skip


@differential
def test_typed_storages(torch: Any) -> Any:
    """Old classes make storages of their dtype; these convert, and are instances of the class of their dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = torch.FloatStorage([1, 2, 3])
        f[0] = 5.0
        d, n = f.double(), torch.LongStorage(4)
        x = torch.tensor([]).set_(torch.arange(6.0).storage())
        return [f.tolist(), f.size(), f.nbytes(), f.element_size(), str(f.dtype), repr(f), d.tolist(), str(d.dtype),
                f.int().tolist(), isinstance(f, torch.FloatStorage), isinstance(f, torch.DoubleStorage),
                isinstance(f, torch.TypedStorage), isinstance(d, torch.DoubleStorage), len(n.tolist()), str(n.dtype),
                str(torch.DoubleStorage.dtype), torch.TypedStorage([1, 2], dtype=torch.int64).tolist(), x,
                torch.TypedStorage(wrap_storage=torch.ones(1).untyped_storage(), dtype=torch.int32).tolist(),
                f.untyped().nbytes(), torch.is_storage(f), f.pickle_storage_type(), f.fill_(2).tolist(),
                isinstance(torch.Storage(2), torch.FloatStorage), torch.storage.UntypedStorage is torch.UntypedStorage,
                f.clone().tolist(), f.is_shared()]  # fmt: skip


@differential
def test_memory_of_tensors_is_resized(torch: Any) -> Any:
    """It grows under all tensors that lie in it, is given up and comes back; memory of others stays as it is."""
    x = torch.arange(4.0)
    view, alias = x[2:], x.data
    s = x.untyped_storage()
    s.resize_(32)
    alias.resize_(8)[4:] = 7
    view[0] = 5
    seen = [x, view, alias, s.nbytes(), view.untyped_storage() is s, view.data_ptr() - x.data_ptr()]
    p = torch.nn.Parameter(torch.ones(2))
    p.untyped_storage().resize_(0)
    gone = (p.untyped_storage().nbytes(), tuple(p.shape))
    p.untyped_storage().resize_(8)
    p.data.fill_(3)
    grown = torch.zeros(2)
    part = grown[:1]
    grown.resize_(3)[0] = 9
    far = torch.zeros(0).set_(torch.arange(2.0).untyped_storage(), 1, (3,))
    lent = torch.from_numpy(np.zeros(2)).untyped_storage()
    return [seen, gone, p, part, far[:1], far.untyped_storage().nbytes(), lent.resizable(),
            raises("storage that is not resizable", lent.resize_, 4)]  # fmt: skip


@differential
def test_what_storages_refuse(torch: Any) -> Any:
    """Places and values that bytes and items have not, forms that their classes have not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s, t = torch.arange(4.0).untyped_storage(), torch.arange(4.0).storage()
        wrapped = torch.FloatStorage(wrap_storage=s)
        return [
            raises("step of 2", lambda: s[::2]), raises("out of bounds", s.__setitem__, 16, 1),
            raises("expects int, but got float", s.fill_, 1.5), raises("slices are only", lambda: t[1:2]),
            raises("can't index", lambda: t["a"]), raises("Too many positional", torch.FloatStorage, 1, 2),
            raises("cannot be specified", lambda: torch.FloatStorage(dtype=torch.float64)),
            raises("must be UntypedStorage", lambda: torch.FloatStorage(wrap_storage=3)),
            raises("invalid storage offset", torch.ones(1).set_, t, -1, (1,), (1,)),
            raises("to a tensor of type float", torch.ones(1).set_, torch.ones(1).int()),
            wrapped.tolist(), torch.ones(1).storage_type() is torch.FloatStorage, wrapped.type(),
            torch.FloatTensor(t).data_ptr() == s.data_ptr(), t.share_memory_().is_shared(),
            torch.UntypedStorage(2, device="meta").device.type, torch.ones(2, device="meta").untyped_storage().nbytes(),
        ]  # fmt: skip


@differential
def test_memory_of_other_libraries(torch: Any) -> Any:
    """DLPack, both ways, shares memory; what requires grad, or is conjugated when it is read, is not given away."""
    a, x = np.arange(3.0), torch.ones(2)
    mine, theirs = torch.from_dlpack(a), np.from_dlpack(x)
    mine[0], x[1] = 5, 7
    alias = torch.from_dlpack(x)
    alias[0] = 9
    device = tuple(map(int, x.__dlpack_device__()))
    return [a, theirs, x, device, raises("that require gradient, use tensor.detach()", x.requires_grad_().__dlpack__),
            raises("with the conjugate bit set", torch.ones(2, dtype=torch.complex64).conj().__dlpack__),
            raises("received an invalid capsule", torch.from_dlpack, 3)]  # fmt: skip


@differential
def test_capsules(torch: Any) -> Any:
    """The memory is given as a capsule, shared when it is read and written, and taken once."""
    shared, strided = torch.arange(6.0), torch.arange(6.0).reshape(2, 3).t()
    once = torch.to_dlpack(shared)
    made = [torch.utils.dlpack.from_dlpack(once), torch.from_dlpack(torch.utils.dlpack.to_dlpack(strided)),
            torch.from_dlpack(shared.__dlpack__(max_version=(1, 0))), torch.from_dlpack(torch.tensor(2.0).__dlpack__()),
            torch.from_dlpack(np.arange(3).__dlpack__())]  # fmt: skip
    made[0][1] = 50
    made[1].mul_(2)
    made[4][0] = 7
    return [made, shared, strided, made[1].stride(), raises("can be consumed only once", torch.from_dlpack, once),
            raises("stream should be None on cpu", shared.__dlpack__, stream=1)]  # fmt: skip


@differential
def test_streams_of_the_cpu(torch: Any) -> Any:
    """There is one, for which nobody waits; events are not recorded there, which is said when it is tried."""
    s, e = torch.Stream(device="cpu"), torch.Event(device="cpu")
    with torch.cpu.stream(torch.cpu.current_stream()):
        torch.cpu.synchronize()
    return [s.synchronize(), e.query(), raises("cpu backend doesn't support events", e.record), repr(e), repr(s),
            torch.cpu.is_available(), torch.cpu.device_count(), torch.cpu.current_device()]  # fmt: skip


class Kept:
    """A class of the program, saved beside tensors."""

    value = 3


@differential
def test_classes_that_files_may_contain(torch: Any) -> Any:
    """``serialization.add_safe_globals`` and ``safe_globals`` name them; without that they are refused."""
    serialization, file = torch.serialization, io.BytesIO()
    torch.save(Kept(), file)

    def load() -> Any:
        file.seek(0)
        return torch.load(file).value

    seen = [raises("Weights only load failed", load)]
    with serialization.safe_globals([Kept]):
        seen += [load(), Kept in serialization.get_safe_globals()]
    seen.append(raises("Weights only load failed", load))
    serialization.add_safe_globals([Kept])
    seen.append(load())
    serialization.clear_safe_globals()
    return [*seen, len(serialization.get_safe_globals()), raises("Weights only load failed", load)]


@differential
def test_determinism(torch: Any) -> Any:
    """While it is asked for, memory that nobody has written is filled, and what varies in PyTorch is refused."""
    flat, one = torch.arange(2), torch.ones(1, 1, 1, 1)
    unpool = partial(torch.nn.functional.max_unpool2d, one, one.long() * 0, 2)
    try:
        torch.use_deterministic_algorithms(True)
        seen = [torch.empty(2), torch.empty(2, dtype=torch.int64), torch.empty_like(flat), torch.ones(1).new_empty(1),
                torch.ones(1).resize_(3), torch.empty_strided((2,), (2,)),
                raises("not have a deterministic implementation", unpool),
                raises("not have a deterministic implementation", torch.ones(2).put_, flat, torch.ones(2))]  # fmt: skip
        torch.utils.deterministic.fill_uninitialized_memory = False
        seen.append(bool(torch.empty(2, dtype=torch.int64).max() == 2**63 - 1))
        torch.set_deterministic_debug_mode("warn")
        return [*seen, torch.get_deterministic_debug_mode(),
                raises("got 5", torch.set_deterministic_debug_mode, 5),
                raises("must be bool", torch.use_deterministic_algorithms, "a")]  # fmt: skip
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)
