"""PyTorch's modules that are not here: a sentence for each says what to do instead."""

from __future__ import annotations

from typing import Final

_NO_QUANTIZATION: Final = "there is no quantization, since NumPy has no arithmetic for it; use float16 or float32"
_ONE_PROCESS: Final = (
    "training on several processes is data-parallel: retrograd.distributed.DataParallel, or "
    "nn.parallel.DistributedDataParallel in a program that is one process"
)
_NO_COMPILER: Final = "nothing is compiled, so the model itself is what can be called"
_NO_GPU: Final = "everything is computed on the CPU; ask torch.cuda.is_available() first"

INSTEAD: Final[dict[str, str]] = {
    "ao": _NO_QUANTIZATION,
    "contrib": "it only wrote graphs for tensorboard; retrograd.walk(loss) and its save draw a graph",
    "cuda.comm": _NO_GPU,
    "cuda.gds": _NO_GPU,
    "cuda.graphs": _NO_GPU,
    "cuda.green_contexts": _NO_GPU,
    "cuda.jiterator": _NO_GPU,
    "cuda.nccl": _NO_GPU,
    "cuda.sparse": "sparse tensors are on the CPU: torch.sparse_coo_tensor, torch.sparse_csr_tensor",
    "cuda.tunable": _NO_GPU,
    "distributed.algorithms": _ONE_PROCESS,
    "distributed.autograd": _ONE_PROCESS,
    "distributed.checkpoint": "one process has the whole state: torch.save(model.state_dict(), path) and torch.load",
    "distributed.device_mesh": _ONE_PROCESS,
    "distributed.elastic": "processes are started by torchrun or mpirun (docs/distributed.md)",
    "distributed.fsdp": _ONE_PROCESS,
    "distributed.launch": "processes are started by torchrun or mpirun (docs/distributed.md)",
    "distributed.launcher": "processes are started by torchrun or mpirun (docs/distributed.md)",
    "distributed.nn": _ONE_PROCESS,
    "distributed.optim": "optimizers of torch.optim keep their whole state on each process",
    "distributed.pipelining": _ONE_PROCESS,
    "distributed.rpc": _ONE_PROCESS,
    "distributed.run": "processes are started by torchrun or mpirun (docs/distributed.md)",
    "distributed.tensor": _ONE_PROCESS,
    "export": (
        f"{_NO_COMPILER}; torch.save(model.state_dict(), path) keeps its parameters, and "
        "retrograd.walk(model(x)) gives the graph of a call"
    ),
    "futures": "nothing here computes asynchronously; use concurrent.futures",
    "fx": (
        "programs are not traced into code; retrograd.walk(model(x)) gives the graph of a call, "
        "named_modules() and set_submodule() exchange layers"
    ),
    "hub": "nothing is downloaded; make the model and call load_state_dict(torch.load(path))",
    "masked.maskedtensor": "there is no MaskedTensor; the functions of torch.masked take mask=",
    "monitor": "there are no counters of the process; torch.profiler.profile() measures calls",
    "nativert": _NO_COMPILER,
    "nested": (
        "there are no nested tensors; nn.utils.rnn.pad_sequence or pack_sequence hold sequences of several lengths"
    ),
    "nn.attention.experimental": "nn.functional.scaled_dot_product_attention computes attention",
    "nn.attention.varlen": (
        "sequences of several lengths in one attention are distinguished by a mask: "
        "nn.functional.scaled_dot_product_attention(attn_mask=...) or nn.attention.flex_attention"
    ),
    "nn.intrinsic": _NO_QUANTIZATION,
    "nn.qat": _NO_QUANTIZATION,
    "nn.quantizable": _NO_QUANTIZATION,
    "nn.quantized": _NO_QUANTIZATION,
    "onnx": "models are not written as ONNX; PyTorch does, after load_state_dict of the same parameters",
    "package": "torch.save(model.state_dict(), path) keeps parameters; the code stays in its files",
    "quantization": _NO_QUANTIZATION,
    "quasirandom": "it is torch.quasirandom.SobolEngine alone; scipy.stats.qmc.Sobol draws such numbers",
    "utils.backend_registration": "there is one device, the CPU; no other can be registered",
    "utils.bottleneck": "`retrograd stats SCRIPT` and torch.profiler.profile() say where time goes",
    "utils.bundled_inputs": _NO_COMPILER,
    "utils.cpp_backtrace": "there is no C++ beneath; Python's traceback is whole",
    "utils.cpp_extension": "extensions in C++ need PyTorch; write a torch.autograd.Function over NumPy",
    "utils.data.datapipes": "write a torch.utils.data.Dataset or IterableDataset",
    "utils.data.graph": "write a torch.utils.data.Dataset or IterableDataset",
    "utils.data.graph_settings": "write a torch.utils.data.Dataset or IterableDataset",
    "utils.hipify": _NO_GPU,
    "utils.jit": _NO_COMPILER,
    "utils.mkldnn": "NumPy computes everything; use the module as it is",
    "utils.mobile_optimizer": _NO_COMPILER,
    "utils.model_dump": "torch.load(path) gives what a file holds",
    "utils.model_zoo": "nothing is downloaded; call load_state_dict(torch.load(path))",
    "utils.serialization": "torch.save and torch.load have no settings here",
    "utils.show_pickle": "python -m pickletools shows a pickle",
    "utils.tensorboard": (
        "the package tensorboardX writes the same files; give its SummaryWriter numbers and arrays: loss.item(), "
        "t.detach().numpy()"
    ),
    "utils.viz": "`retrograd trace` and torch.autograd.profiler say what is kept and how long calls take",
}
"""Module of PyTorch, without ``torch.`` before it -> what there is in its place; those within it are meant as well."""


def sentence(name: str) -> str | None:
    """What to say of a module of PyTorch that is not here (``"fx.proxy"``); None for any other name."""
    around = name
    while around and around not in INSTEAD:
        around = around.rpartition(".")[0]
    return f"retrograd has no torch.{name}: {INSTEAD[around]}" if around else None


def missing_attribute(package: str, name: str, otherwise: str = "") -> AttributeError:
    """The error for a name that a package lacks, which may be that of a module; ``otherwise`` what else to say."""
    why = sentence(".".join([*package.split(".")[1:], name]))
    return AttributeError(f"module '{package}' has no attribute '{name}'{f': {why}' if why else otherwise}")
