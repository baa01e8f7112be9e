"""PyTorch's modules: each can be imported here, or the error says what to do instead."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from both_engines import differential, raises

from retrograd._absent import INSTEAD, sentence

UNTOLD = {
    "accelerator.graphs", "accelerator.memory", "autograd.profiler_legacy", "backends.cpu", "backends.cusparselt",
    "backends.kleidiai", "backends.mha", "backends.miopen", "backends.nnpack", "backends.python_native",
    "backends.quantized", "backends.xeon", "cuda.profiler", "fx", "multiprocessing.pool", "multiprocessing.queue",
    "multiprocessing.reductions", "multiprocessing.spawn", "nn.backends", "nn.cpp", "nn.parallel.comm",
    "nn.parallel.parallel_apply", "nn.parallel.replicate", "nn.parallel.scatter_gather", "nn.utils.spectral_norm",
    "nn.utils.weight_norm", "profiler.itt", "profiler.profiler", "profiler.python_tracer", "torch_version",
    "utils.backcompat", "utils.collect_env", "utils.debug_log", "utils.file_baton", "utils.throughput_benchmark",
    "utils.weak", "compiler.config", "cpu.amp", "signal.windows.windows", "distributed.argparse_util",
    "nn.modules.linear_cross_entropy_options", "sparse.semi_structured", "cuda.amp.common", "cpu.amp.autocast_mode",
    "cpu.amp.grad_scaler", "backends.cudnn.rnn", "backends.xeon.run_cpu", "utils.data.backward_compatibility", "numa",
}  # fmt: skip
"""Innards of PyTorch that no documentation names, and files whose names are in the module around them."""
INNER = ("distributed", "testing", "jit", "xpu", "mtia", "mps", "include", "lib", "share", "bin", "csrc",
         "utils.benchmark", "utils.data.datapipes", "headeronly", "numa", "onnx", "fx", "ao", "package",
         "quantization", "export", "nn.backends", "nn.intrinsic", "nn.qat", "nn.quantized",
         "nn.quantizable")  # fmt: skip
"""Packages whose insides are not asked for."""


def public_modules(root: str) -> Iterator[str]:
    """Names of PyTorch's modules without an underscore, up to two packages deep."""
    for folder, folders, files in os.walk(root):
        parts = [] if folder == root else os.path.relpath(folder, root).split(os.sep)
        inner = ".".join(parts) in INNER or len(parts) > 2
        folders[:] = [] if inner else [name for name in folders if name[0] != "_"]
        if "__init__.py" in files:
            names = [] if inner else [f[:-3] for f in files if f.endswith(".py") and f[0] != "_"]
            yield from (".".join([*parts, name]) for name in (*names, *([""] if parts else [])))


def test_every_public_module_is_there_or_told_of() -> None:
    """Names of files in PyTorch's package: no bare ModuleNotFoundError for one that programs know."""
    torch = pytest.importorskip("torch")
    untold = set()
    for name in public_modules(os.path.dirname(torch.__file__)):
        name = name.rstrip(".")
        try:
            importlib.import_module(f"retrograd.{name}")
        except ModuleNotFoundError as error:
            if "retrograd has no torch." not in str(error):
                untold.add(name)
    assert sorted(untold - UNTOLD) == []


@pytest.mark.parametrize("name", ["export", "fx", "onnx", "utils.tensorboard", "distributed.fsdp", "nn.quantized"])
def test_what_is_said_of_an_absent_module(name: str) -> None:
    """The same sentence where it is imported, where something in it is, and where it is looked up."""
    with pytest.raises(ModuleNotFoundError, match=f"retrograd has no torch.{name}: ") as imported:
        importlib.import_module(f"retrograd.{name}")
    with pytest.raises(ModuleNotFoundError, match=f"retrograd has no torch.{name}"):
        importlib.import_module(f"retrograd.{name}.inner")
    package, _, last = f"retrograd.{name}".rpartition(".")
    with pytest.raises(AttributeError) as asked:
        getattr(importlib.import_module(package), last)
    assert str(imported.value) == sentence(name)
    assert str(asked.value) == f"module '{package}' has no attribute '{last}': {sentence(name)}"


def test_other_modules_are_not_spoken_of() -> None:
    """Names that PyTorch has not, and those of other packages, are missing as ever; nothing listed is there."""
    with pytest.raises(ModuleNotFoundError, match="No module named 'retrograd.nonsense'"):
        importlib.import_module("retrograd.nonsense")
    with pytest.raises(ModuleNotFoundError, match="No module named 'export'"):
        importlib.import_module("export")
    assert sentence("nn") is sentence("") is None
    assert [name for name in INSTEAD if f"retrograd.{name}" in sys.modules] == []


@differential
def test_names_of_scripts(torch: Any) -> Any:
    """``torch.jit`` where nothing is scripted: questions, annotations, calls at once."""
    jit, model = torch.jit, torch.nn.Linear(2, 2)
    return [isinstance(model, jit.ScriptModule), isinstance(len, jit.ScriptFunction), jit.annotate(int, 3),
            jit.wait(jit.fork(lambda a: a + 1, torch.ones(2))), issubclass(jit.TracerWarning, Warning),
            jit.Attribute(1, int).value, issubclass(jit.ScriptModule, torch.nn.Module)]  # fmt: skip


@differential
def test_names_of_gpus(torch: Any) -> Any:
    """What a build without CUDA answers, and refuses."""
    cuda = torch.cuda
    with cuda.stream(None), cuda.device(-1), cuda.device_of(torch.ones(1)):
        pass
    first = cuda.device(0)
    answers = [cuda.memory_stats(), cuda.get_rng_state_all(), cuda.set_rng_state_all([]), cuda.is_bf16_supported(),
               cuda.get_arch_list(), cuda.get_gencode_flags(), cuda.default_generators,
               first.idx, cuda.device("cuda:1").idx, cuda.device(torch.device("cuda", 2)).idx,
               isinstance(torch.ones(1), cuda.FloatTensor), cuda.is_tf32_supported()]  # fmt: skip
    refused = [raises("Torch not compiled with CUDA enabled", getattr(cuda, name))
               for name in ("ipc_collect", "initial_seed", "get_rng_state", "current_blas_handle")]  # fmt: skip
    refused += [raises("compiled without CUDA support", first.__enter__),
                raises("Expected a cuda device, but got: cpu", cuda.device, "cpu"),
                raises("NVTX functions not installed", cuda.nvtx.range_push, "a"),
                raises("not available. Torch not compiled with CUDA enabled", cuda.FloatTensor, 2)]  # fmt: skip
    return answers, refused, torch.OutOfMemoryError is cuda.OutOfMemoryError, torch.OutOfMemoryError.__bases__


@differential
def test_other_names(torch: Any) -> Any:
    """Modules of devices, sizes that are left open, memory that is loaded, settings of a compiler, data samplers."""
    load, name = importlib.import_module(f"{torch.__name__}.serialization"), torch.__name__
    importlib.import_module(f"{name}.utils.data")
    storage = torch.zeros(2).untyped_storage()
    with torch.compiler.set_stance("force_eager"):
        pass
    return [torch.get_device_module("cpu") is torch.cpu, torch.get_device_module(torch.device("cuda")) is torch.cuda,
            torch.get_device_module() is torch.cpu, raises("expect torch.device, str", torch.get_device_module, 3),
            raises("does not have a corresponding module", torch.get_device_module, "meta"),
            isinstance(3, (torch.SymInt, torch.SymFloat, torch.SymBool)), torch.types.py_sym_types[0] is torch.SymInt,
            load.location_tag(storage), load.default_restore_location(storage, "cpu") is storage,
            issubclass(load.SourceChangeWarning, Warning), torch.utils.deterministic.fill_uninitialized_memory,
            torch.utils.data.distributed.DistributedSampler.__name__,
            importlib.import_module(f"{name}.amp.grad_scaler").GradScaler is torch.amp.GradScaler,
            importlib.import_module(f"{name}.cuda.amp.autocast_mode").autocast is torch.cuda.amp.autocast,
            importlib.import_module(f"{name}.nn.parallel.distributed").DistributedDataParallel.__name__]  # fmt: skip


def test_parameters_of_optimizers_have_a_name_for_annotations() -> None:
    """``ParamsT``, which optimizers of programs import."""
    from retrograd.optim.optimizer import ParamsT

    assert {argument.__origin__.__name__ for argument in ParamsT.__args__} == {"Iterable"}
