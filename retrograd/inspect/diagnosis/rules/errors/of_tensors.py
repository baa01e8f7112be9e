"""Rows for errors of tensors, modules and scalers, and for rejected writes."""

from __future__ import annotations

from .row import Row

_CALL = "refused-call"
_LOSS = "loss-contract"
_WRITE = "refused-write"
_FUNCTION = "wrong-function"

OF_TENSORS = (
    Row(
        r"Only Tensors of floating point|only Tensors of floating point",
        _CALL,
        "{tensor}{of_dtype}{made} holds whole numbers or truth values, which have no gradient, and {call}{here} makes "
        "it require grad.",
        "floating point: torch.tensor([1., 2.]), {tensor}.float(), or dtype=torch.float32 where it is made; for "
        "nn.Parameter also requires_grad=False",
        about="whole",
    ),
    Row(
        r"only change requires_grad flags of leaf variables",
        _CALL,
        "{tensor} is not a leaf{made}: whether it requires grad follows from its operands, and{here} "
        "it is switched off.",
        "{tensor} = {tensor}.detach() to cut it off, or requires_grad_(False) on the leaves before",
    ),
    Row(
        r"cannot register a hook on a tensor that doesn't require grad",
        _CALL,
        "{tensor}{made} does not require grad, so the hook that {call}{here} registers would never run.",
        "{tensor}.requires_grad_() before the forward pass, or hook a tensor that is computed from what is trained",
    ),
    Row(
        r"post accumulate grad hooks cannot be registered on non-leaf",
        _CALL,
        "{tensor} is not a leaf{made}, and hooks after accumulation{here} belong to leaves, whose .grad is filled.",
        "{tensor}.register_hook(...) for the gradient of a result, or hook the parameter",
    ),
    Row(
        r"can't retain_grad on Tensor that has requires_grad=False",
        _CALL,
        "{tensor}{made} does not require grad, so there is no gradient for retain_grad(){here} to keep.",
        "{tensor}.requires_grad_() before the forward pass, or compute it from what is trained, with gradients on",
    ),
    Row(
        r"assign(?:ing|ed)? (?:a )?grad(?:ient)? (?:of size|has data of a different size)[ '\[]*(?P<given>[\d, ]*)"
        r"[\]']* ?(?:to a tensor of size)?[ '\[]*(?P<wanted>[\d, ]*)",
        _CALL,
        "{tensor}.grad is given{here} a tensor of shape ({given},), and {tensor} has shape {shape}.",
        "a gradient of the shape of {tensor}: torch.zeros_like({tensor}), or reshape or sum it",
    ),
    Row(
        r"assign(?:ing|ed)? (?:a )?grad(?:ient)? (?:with dtype|has data of a different type)[ ']*(?P<given>\w*)",
        _CALL,
        "{tensor}.grad is given{here} a tensor of another dtype ({given}), and {tensor} is {dtype}.",
        "convert it: gradient.to({tensor}.dtype)",
    ),
    Row(
        r"assigned grad expected to be a Tensor or None but got grad of type (?P<found>\S+?)'?$"
        r"|can't assign a (?P<other>\S+) as a grad",
        _CALL,
        "{tensor}.grad is given{here} an object of type {found}, and can be a tensor or None.",
        "{tensor}.grad = None to clear it, or {tensor}.grad.zero_()",
    ),
    Row(
        r"assign(?:ing|ed)? (?:a )?grad",
        _CALL,
        "{tensor}.grad is given{here} what is not like {tensor} (shape {shape}, {dtype}): {message}.",
        "a tensor of the shape, dtype and device of {tensor}",
    ),
    Row(
        r"Can't detach views in-place",
        _CALL,
        "{tensor} is a view{made}, and detach_(){here} would cut off only this view of memory that others share.",
        "{tensor} = {tensor}.detach(), which makes a new tensor",
    ),
    Row(
        r"owardly refusing to serialize non-leaf tensor",
        _CALL,
        "{tensor}{made} has a history, which cannot go to another process{here}.",
        "detach() what is sent; let the model, not the data, require grad",
        about="history",
    ),
    Row(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "numpy-on-grad",
        "{tensor}{made} requires grad, and an array{here} cannot carry its history: numpy() needs detach() first.",
        "{tensor}.detach().numpy()",
        about="history",
    ),
    Row(
        r"Can't export tensors that require gradient",
        _CALL,
        "{tensor}{made} requires grad, and what {call}{here} hands to another library cannot carry its history.",
        "{tensor}.detach() there",
        about="history",
    ),
    Row(
        r"support the deepcopy protocol",
        _CALL,
        "{tensor}{made} has a history, and deepcopy{here} copies leaves only.",
        "keep {tensor}.detach() in what is copied",
        about="history",
    ),
    Row(
        r"functions with out=\.\.\. arguments don't support automatic differentiation",
        _CALL,
        "{call}{here} writes into out= while {tensor}{made} requires grad: a result in memory that is given has no "
        "history.",
        "take the result instead: y = {call}(...), or torch.no_grad() around it if no gradient is wanted",
        about="history",
    ),
    Row(
        r"cannot resize variables that require grad",
        _CALL,
        "{tensor}{made} requires grad, and {call}{here} would change its size under the graph.",
        "reshape() or a slice for another shape; a new nn.Parameter (given to the optimizer, too) for another size",
    ),
    Row(
        r"cannot assign '(?P<found>[^']+)'(?: object)? (?:as|to) parameter '(?P<name>\w+)'|"
        r"[Cc]annot assign non-leaf Tensor to parameter '(?P<other>\w+)'",
        _CALL,
        "{name} is a parameter of its module, and{here} it is given the result of an operation, which no optimizer "
        "could train.",
        "with torch.no_grad(): module.{name}.copy_(...) to change its values, nn.Parameter(....detach()) for a new "
        "one, or torch.nn.utils.parametrize for one that is computed",
    ),
    Row(
        r"can't optimize a non-leaf",
        _CALL,
        "the optimizer{here} is given {tensor}{made}, which is not a leaf.",
        "make it a leaf: {tensor}.detach().requires_grad_()",
        about="history",
        line="made",
    ),
    Row(
        r"incompatible tensor type",
        _CALL,
        "{tensor}.data is given{here} a tensor of another layout or device than {tensor} has, as sparse for dense.",
        "make a new leaf of what it is given, by .detach().requires_grad_(), before an optimizer is made",
    ),
    Row(
        r"data set to a tensor that requires gradients must be floating point",
        _CALL,
        "{tensor}.data is given{here} whole numbers or truth values, which have no gradient, and {tensor} requires "
        "grad.",
        "give it floating point: .float(), or .to({tensor}.dtype)",
    ),
    Row(
        r"unscale_\(\) has already been called on this optimizer",
        _CALL,
        "unscale_{here} is called a second time for this optimizer before scaler.update().",
        "call unscale_ once a step, and scaler.update() after scaler.step(optimizer)",
    ),
    Row(
        r"unscale_\(\) is being called after step\(\)",
        _CALL,
        "unscale_{here} comes after scaler.step, which has unscaled the gradients itself.",
        "scaler.unscale_(optimizer) between backward() and scaler.step(optimizer)",
    ),
    Row(
        r"No inf checks were recorded prior to update",
        _CALL,
        "scaler.update(){here} finds no optimizer that the scaler has stepped, so gradients of the scaled loss were "
        "never unscaled.",
        "scaler.step(optimizer) in place of optimizer.step(), then scaler.update()",
    ),
    Row(
        r"No inf checks were recorded",
        _CALL,
        "no parameter of the optimizer that scaler.{call}{here} steps has a gradient: backward did not reach them.",
        "give the optimizer the parameters that the loss is computed from, and run scaler.scale(loss).backward() first",
    ),
    Row(
        r"(?P<found>\w+) does not support sparse gradients",
        _CALL,
        "{found}{here} steps by dense gradients only, and that of {sparse} is sparse.",
        "sparse=False where the layer is made, or give its weight to torch.optim.SparseAdam, SGD or Adagrad",
    ),
    Row(
        r"(?P<found>\w+) does not support dense gradients",
        _CALL,
        "{found}{here} steps by sparse gradients only, as of layers made with sparse=True, and was given others too.",
        "give it the weights of sparse layers alone, and the others to another optimizer",
    ),
    Row(
        r"input is not positive-definite",
        _CALL,
        "{tensor}{made} is not positive definite, so {call}{here} cannot factor it: rows of it may be equal, or depend "
        "on each other, up to rounding.",
        "add to its diagonal: {tensor} + 1e-6 * torch.eye({tensor}.shape[-1]), or more where data have noise",
    ),
    Row(
        r"the (?:input|diagonal element|solver failed).*singular",
        _CALL,
        "{tensor}{made} is singular, so {call}{here} has no result: rows of it depend on each other.",
        "add to its diagonal: {tensor} + 1e-6 * torch.eye({tensor}.shape[-1]), or torch.linalg.lstsq or pinv",
    ),
)
"""Errors of tensors, modules and scalers."""

OF_LOSSES = (
    Row(
        r"all elements of (?P<which>input|target) should be between 0 and 1",
        _LOSS,
        "{call}{here} takes numbers between 0 and 1 as {which}, and {tensor}{made} goes beyond: they are scores, not "
        "probabilities.",
        "torch.sigmoid({tensor}) before it, or F.binary_cross_entropy_with_logits, which takes scores",
    ),
    Row(
        r"Target (?P<found>-?\d+) is out of bounds",
        _LOSS,
        "{call}{here} is given the class {found}, and {tensor} of shape {shape}{made} has no score for it.",
        "count classes from 0, give the last layer as many outputs as there are classes, and mark what is not to count "
        "by ignore_index",
    ),
)
"""Errors of losses."""

OF_WRITES = (
    Row(
        r"view of a leaf Variable that requires grad|leaf Variable that requires grad",
        _WRITE,
        "{tensor}{made} is a leaf that requires grad, or a view of one, and{here} it is changed in place while "
        "gradients are on.",
        "with torch.no_grad(): around an update; a new tensor otherwise",
    ),
    Row(
        r"[Oo]utput (?P<place>\d+) of (?P<maker>\w+?)(?:Backward\d*)? is a view and is being modified inplace[.\s]*"
        r"This view is the output of a function that returns multiple views",
        _WRITE,
        "{tensor} is one of several views that {maker_word}{at_maker} returned together, and{here} it is changed in "
        "place: the graph could not account for the others.",
        "change a copy ({tensor} = {tensor}.clone()), or index the whole tensor and write into that",
    ),
    Row(
        r"[Oo]utput (?P<place>\d+) of BackwardHookFunction\w* is a view",
        _WRITE,
        "{tensor}{made} passes a full backward hook of its module, and{here} it is changed in place.",
        "out of place after such a module: y = y + 1, and inplace=False in the layer that follows",
    ),
    Row(
        r"[Oo]utput (?P<place>\d+) of (?P<maker>\w+?)(?:Backward\d*)? is a view and is being modified inplace[.\s]*"
        r"This view was created inside a custom Function",
        _WRITE,
        "{tensor} is a view that {maker}.forward{at_maker} returned, and{here} it is changed in place: "
        "{maker}.backward would not know.",
        "return a copy from {maker}.forward (x.clone()), or change a copy of the result: {tensor} = {tensor}.clone()",
    ),
    Row(
        r"was created in (?P<mode>no_grad|inference) mode",
        _WRITE,
        "{tensor}{made} is a view that was made in {mode} mode, and{here} it is changed in place while gradients are "
        "on.",
        "make the view outside of that mode, or change a copy: {tensor} = {tensor}.clone()",
        line="made",
    ),
    Row(
        r"refers? to a single memory location",
        _WRITE,
        "entries of {tensor}{made} share memory with each other, and the write{here} cannot change one of them alone.",
        "{tensor} = {tensor}.clone() before it",
        line="made",
    ),
    Row(
        r"nference tensor",
        _WRITE,
        "{tensor}{made} is an inference tensor, which{here} is to take part in what gradients flow through.",
        "torch.no_grad() in place of inference_mode, or {tensor}.clone() outside of it",
        line="made",
    ),
    Row(
        r"pack hook is modifying its input in place",
        _WRITE,
        "the pack hook of saved_tensors_hooks changes{here} the tensor that it is given, which the program still uses.",
        "pack a copy: out of place, or x.clone() first",
        line="pack",
    ),
    Row(
        r"unpack[_ ]hook expected to be a Tensor but got result of type (?P<found>\S+)",
        _FUNCTION,
        "the unpack hook returns a {found} for a tensor that {node} saved, and backward{passed} needs the tensor.",
        "return from the unpack hook what the pack hook was given, as a tensor",
    ),
)
"""Writes that are not allowed."""
