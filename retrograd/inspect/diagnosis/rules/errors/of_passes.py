"""Rows for errors of backward passes, derivatives and processes."""

from __future__ import annotations

from .row import Row

_ARGUMENTS = "refused-backward"
_CALL = "refused-call"
_DERIVATIVE = "no-derivative"
_PASS = "failed-backward"

OF_BACKWARD = (
    Row(
        r"element \d+ of tensors does not require grad",
        _ARGUMENTS,
        "{loss} has no history{passed}: nothing that it was computed from requires grad, or its graph was cut.",
        "requires_grad=True for the leaves that it is computed from, and no detach() or no_grad() in between",
    ),
    Row(
        r"implicitly created only for scalar outputs",
        _ARGUMENTS,
        "{loss}.backward(){passed} needs a scalar, and {loss} is {shape}{made}.",
        "reduce it first: {loss}.mean() or {loss}.sum()",
    ),
    Row(
        r"implicitly created only for real scalar outputs but got (?:torch\.|retrograd\.)?(?P<found>\w+)",
        _ARGUMENTS,
        "{loss} is complex ({found}){made}, and backward{passed} starts from a real number: a complex result has no "
        "direction in which it gets smaller.",
        "make a real loss of it: {loss}.abs(), {loss}.real, or (a * a.conj()).real.sum()",
    ),
    Row(
        r"Mismatch in shape: grad_output\[(?P<place>\d+)\] has a shape of [\w.]*\(?\[?(?P<given>[\d, ]*)\]?\)?"
        r" and output\[\d+\] has a shape of [\w.]*\(?\[?(?P<wanted>[\d, ]*)\]?\)?",
        _ARGUMENTS,
        "the gradient given for {root}{passed} has shape ({given},), and {root} has shape ({wanted},){made}.",
        "give one entry for each of {root}: torch.ones_like({root}) weights all equally, like {root}.sum().backward()",
        about="root",
    ),
    Row(
        r"Mismatch in dtype: grad_output\[\d+\] has a dtype of (?:\w+\.)?(?P<given>\w+)"
        r" and output\[\d+\] has a dtype of (?:\w+\.)?(?P<wanted>\w+)",
        _ARGUMENTS,
        "the gradient given for {root}{passed} is {given}, and {root} is {wanted}{made}.",
        "give it in the dtype of the result: gradient.to({root}.dtype)",
        about="root",
    ),
    Row(
        r"got (?P<tensors>\d+) tensors and (?P<given>\d+) gradients",
        _ARGUMENTS,
        "backward{passed} starts from {tensors} tensors and is given {given} gradients: each needs one of its own.",
        "as many entries in grad_tensors (grad_outputs) as tensors, None for scalars",
    ),
    Row(
        r"(?P<found>\w+)' object is not iterable|gradients can be either Tensors or None, but got (?P<other>\S+)",
        _ARGUMENTS,
        "the gradient given for {root}{passed} is not a tensor but of type {found}.",
        "{root}.backward(), or a tensor of the shape of {root}: torch.ones_like({root})",
        about="root",
    ),
    Row(
        r"`?inputs`? argument to `?backward\(\)`? cannot be empty|grad requires non-empty inputs",
        _ARGUMENTS,
        "{loss}.{call}{passed} is asked for the gradients of no tensor: inputs is empty.",
        "leave inputs out to reach every leaf, or name those that are wanted",
    ),
    Row(
        r"One of the differentiated Tensors does not require grad",
        _ARGUMENTS,
        "{tensor}{made} does not require grad, so {call}{here} cannot give its gradient.",
        "{tensor}.requires_grad_(True) before the forward pass, or leave it out",
        about="plain",
    ),
    Row(
        r"appears to not have been used in the graph",
        _ARGUMENTS,
        "one of the tensors that {call}{here} differentiates by is not part of the graph of {loss}.",
        "use it in the forward pass, leave it out, or give allow_unused=True, which returns None for it",
    ),
    Row(
        r"directly access saved tensors after they have already been freed|backward through the graph a second time",
        _ARGUMENTS,
        "the tensors saved in this graph, which {call}{here} needs, were freed by the backward pass before.",
        "backward(retain_graph=True) in that pass, or read them before it; compute the loss again for another pass",
    ),
    Row(
        r"modified by an inplace operation",
        _PASS,
        "{loss}.backward(){passed} finds that a tensor saved by {node}{inside} was changed in place after that.",
        "change a copy: out of place (x = x + y), or x.clone() first",
        line="node",
    ),
    Row(
        r"Function '?(?P<node_name>\w+?Backward\d*)'? returned nan values",
        _PASS,
        "the backward of {node} returns NaN: its slope is infinite or undefined at an entry of what it was given.",
        "keep its operand away from that point before the call (clamp, or torch.where on the operand), not after it",
        line="node",
    ),
    Row(
        r"use_reentrant=True.*incompatible|[Cc]heckpointing is not compatible with \.grad\(\)",
        _ARGUMENTS,
        "{call}{here} goes through a block that was checkpointed with use_reentrant=True{of_checkpoint}, and such "
        "blocks know only .backward() without inputs, not autograd.grad.",
        "checkpoint(..., use_reentrant=False)",
        line="checkpoint",
    ),
    Row(
        r"recomputed values|different number of tensors was saved|tensor that was already unpacked once",
        _PASS,
        "the recomputation of a checkpointed block{of_checkpoint} in {loss}.backward(){passed} differs from its "
        "forward pass.",
        "let the block depend on its arguments alone: no counters, lists or random numbers from outside",
        line="checkpoint",
    ),
)
"""Errors of backward passes and ``autograd.grad``."""

OF_DERIVATIVES = (
    Row(
        r"derivative for '(?P<operand>[^']*)'(?: of '(?P<of>[^']*)')? is not implemented",
        _DERIVATIVE,
        "{node}{inside} has no derivative with respect to its {operand}, which {loss}.backward(){passed} asks for.",
        "detach that operand if it is not to be trained; else write what it computes with other operators, or a "
        "torch.autograd.Function with the derivative",
        line="node",
    ),
    Row(
        r"derivative for (?:aten::)?_?(?P<op>\w+?)_(?:for_cpu_)?backward is not implemented",
        _DERIVATIVE,
        "{operator}{made_by} has a first derivative but no second: {loss}.backward(){passed} differentiates its "
        "backward.",
        "for second derivatives use its plain form (for attention: "
        "with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), or softmax(q @ k.mT) @ v)",
        line="op",
    ),
    Row(
        r"derivative for (?:aten::)?(?P<op>\w+) is not implemented|(?P<other>\w+) does not support automatic differ",
        _DERIVATIVE,
        "{operator}{made_by} has no derivative, and {loss}.backward(){passed} needs it.",
        "write what it computes with operators that have one, or detach its operand if it is not to be trained",
        line="op",
    ),
    Row(
        r"Trying to use forward AD with (?P<op>\w+) that does not support it",
        _DERIVATIVE,
        "{op}, called{here}, has no derivative in forward mode.",
        "backward mode (torch.func.grad, vjp, jacrev) where it is used, or other operators",
    ),
    Row(
        r"differentiate twice a function that was marked with @once_differentiable",
        _DERIVATIVE,
        "{function}.backward is marked @once_differentiable, so its gradient has no derivative, and "
        "{loss}.backward(){passed} asks for a second one.",
        "take @once_differentiable away and compute backward with operators that record, from saved inputs",
        line="backward",
    ),
    Row(
        r"linalg_\w+_backward|eigenvectors in the complex case|(?:svd|eig)\w*_backward: ",
        _DERIVATIVE,
        "{loss}{passed} depends on what {node} leaves open (the phase or sign of vectors, or their order where values "
        "are equal): {message}.",
        "a loss that no phase changes: of the values alone, of vectors.abs(), or of the product that they make up",
        line="node",
    ),
)
"""Derivatives that do not exist."""

OF_PROCESSES = (
    Row(
        r"^in DataLoader worker process \d+: .*"
        r"(?:out=\.\.\. arguments don't support automatic|serialize non-leaf tensor)",
        _CALL,
        "what the data set returns in a worker of the DataLoader{here} requires grad, and a history cannot go to "
        "another process.",
        "return sample.detach() from __getitem__, or keep what requires grad in the model",
    ),
    Row(
        r"Expected to mark a variable ready only once",
        _PASS,
        "a parameter got two gradients in one pass{passed}, and DistributedDataParallel reduces each once.",
        "use it in one forward of the wrapped module, static_graph=True, or checkpoint with use_reentrant=False",
        line="pass",
    ),
    Row(
        r"Expected to have finished reduction in the prior iteration",
        _PASS,
        "parameters of the wrapped module got no gradient in the pass before, so its reduction is not finished{here}.",
        "let every parameter take part in the loss, or find_unused_parameters=True",
    ),
    Row(
        r"autograd's threading in combination with fork",
        _PASS,
        "a backward pass{here} runs in a forked process whose parent had run one already.",
        'multiprocessing.set_start_method("spawn"), or no backward before the fork',
    ),
)
"""Errors of processes that work together."""
