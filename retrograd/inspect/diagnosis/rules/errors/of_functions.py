"""Rows of custom Functions, hooks and transforms."""

from __future__ import annotations

from .row import Row

_FUNCTION = "wrong-function"
_PASS = "failed-backward"
_TRANSFORM = "failed-transform"
_TRANSFORMED = r"^within "
_OF_ENTRIES = (
    "make {tensor} from the argument, so that each entry has its own (torch.zeros_like(x), x.new_zeros(...)), or put "
    "the results together by torch.stack"
)

OF_FUNCTIONS = (
    Row(
        r"save_for_backward can only save variables, but argument (?P<place>\d+) is of type (?P<found>\w+)",
        _FUNCTION,
        "ctx.save_for_backward of {name_here}{here} is given an object of type {found}, and keeps tensors only.",
        "keep other values on ctx: ctx.factor = factor",
        line="saving",
    ),
    Row(
        r"must implement either the backward or vjp",
        _FUNCTION,
        "{function} has no backward, and {loss}.backward(){passed} has to pass it.",
        "write @staticmethod def backward(ctx, grad), which returns a gradient for each input of forward",
        line="forward",
    ),
    Row(
        r"must implement the jvp function|does not implement (?:the )?jvp",
        _FUNCTION,
        "{name_here}{here} has a backward and no jvp, and what it is given has a tangent: forward mode cannot pass it.",
        "write @staticmethod def jvp(ctx, *tangents), with what forward keeps by ctx.save_for_forward, or take the "
        "derivative backward",
    ),
    Row(
        r"returned an incorrect number of gradients",
        _FUNCTION,
        "{function}.backward returns another number of gradients than forward has inputs: {message}.",
        "return one gradient for each input of forward, None for those that have none",
        line="backward",
    ),
    Row(
        r"returned an invalid gradient at index (?P<place>\d+)[ -]+got \[?(?P<got>[\d, ]*)\]? but expected shape"
        r" compatible with \[?(?P<wanted>[\d, ]*)\]?",
        _PASS,
        "{function_or_node} returns in {loss}.backward(){passed} a gradient of shape ({got}) for an input of shape "
        "({wanted}).",
        "sum or reshape it to the input's shape",
        line="backward",
    ),
    Row(
        r"expected Variable or None \(got (?P<found>\w+)\)",
        _FUNCTION,
        "{function}.backward returns a {found} as gradient, which must be a tensor or None.",
        "return a tensor of the input's shape: grad * {found}(...), or torch.full_like(x, ...)",
        line="backward",
    ),
    Row(
        r"marked as dirty during the forward method were not returned",
        _FUNCTION,
        "{name_here}.forward marks an input by ctx.mark_dirty that it does not return, so nothing could use its new "
        "history.",
        "return the input that was changed in place, or work on a copy without mark_dirty",
    ),
    Row(
        r"Legacy autograd function with non-static forward",
        _FUNCTION,
        "{name_here}, used{here}, is written in the old form, with forward and backward as methods of an object.",
        "@staticmethod def forward(ctx, ...), @staticmethod def backward(ctx, grad), and {name_here}.apply(...)",
    ),
    Row(
        r"must override the setup_context staticmethod",
        _FUNCTION,
        "a custom Function is used{here} inside a transform of torch.func, which needs its forward without ctx.",
        "split it: forward(x) and setup_context(ctx, inputs, output), both static",
    ),
    Row(
        r"tried to vmap over (?P<name>\w+), but it does not have vmap support",
        _FUNCTION,
        "{name} is called{here} inside vmap, and does not say how it works on a batch.",
        "generate_vmap_rule = True in the class, or a static vmap(info, in_dims, *inputs)",
    ),
    Row(
        r"Jacobian mismatch for output (?P<out>\d+) with respect to input (?P<into>\d+)",
        _PASS,
        "gradcheck{here}: the derivative of output {out} by input {into} that backward gives is not the one that "
        "finite differences give.",
        "look for what cuts or repeats a part of the gradient there (detach, a custom backward, a write in place); "
        "inputs must be double",
    ),
    Row(
        r"hook '?(?P<said>[^']*)'? has changed the (?P<what>size|type|device) of value",
        _PASS,
        "{hook}{hooked} returns a gradient of another {what} than it was given, in {loss}.backward(){passed}.",
        "return {for_hook}, or None",
        line="hook",
    ),
    Row(
        r"[Bb]ackward (?:pre )?hook returned an invalid number of grad_(?P<what>input|output), got (?P<given>\d+), but"
        r" expected (?P<wanted>\d+)",
        _PASS,
        "{hook}{hooked} returns {given} gradients in {loss}.backward(){passed}, where {wanted} should come.",
        "return {for_hook}, or None",
        line="hook",
    ),
)
"""Mistakes in custom Functions, hooks and gradient checks."""

OF_TRANSFORMS = (
    Row(
        r"Expected f\(\*args\) to return a scalar [Tt]ensor, got tensor with (?P<dims>\d+) dims",
        _TRANSFORM,
        "the function that torch.func differentiates{here} returns a tensor with {dims} dimensions, not a scalar.",
        "return a sum or mean, or use torch.func.jacrev or vjp for all entries",
    ),
    Row(
        r"attempting to call Tensor\.requires_grad_\(\)",
        _TRANSFORM,
        "requires_grad_(){here} is called inside a function that torch.func transforms, which tracks its arguments "
        "itself.",
        "leave requires_grad_() out, and take derivatives by torch.func.grad inside",
    ),
    Row(
        r"Tensor in some data-dependent control flow",
        _TRANSFORM,
        "inside vmap{here} a condition asks a tensor that has another value for each entry of the batch.",
        "torch.where(condition, a, b), which computes both",
    ),
    Row(
        r"calling \.item\(\) on a Tensor",
        _TRANSFORM,
        "inside vmap{here} item() asks for one number of a tensor that has another for each entry of the batch.",
        "use the tensor itself: remove .item()",
    ),
    Row(
        r"called random operation while in randomness error mode",
        _TRANSFORM,
        "{drawing} draws random numbers inside vmap, which refuses that unless its argument randomness says whether "
        "entries of the batch share them.",
        'vmap(f, randomness="different") or "same"; where a dropout is to be off, module.eval() before the call',
    ),
    Row(
        r"vmap: [\w ]+\(self, \*?(?:extra_)?args\) is not possible",
        _TRANSFORM,
        "inside vmap{here} {tensor}, which is one for the whole batch, is changed in place by what differs for each "
        "entry.",
        _OF_ENTRIES,
    ),
    Row(
        r"output with shape \[(?P<wanted>[\d, ]*)\] doesn't match the broadcast shape \[(?P<given>[\d, ]*)\]",
        _TRANSFORM,
        "inside vmap{here} {tensor} has room for the shape [{wanted}], and is to hold the shape [{given}]: what is not "
        "made from the argument is one for the whole batch.",
        _OF_ENTRIES,
        within=r"^within vmap$",
    ),
    Row(
        r"doesn't work on out= or view ops",
        _TRANSFORM,
        "inside vmap{here} a result is written to a tensor given by out=, which is one for the whole batch.",
        "use what the call returns instead of out=",
    ),
    Row(
        r"that doesn't have storage",
        _TRANSFORM,
        "inside a transform{here} the numbers of {tensor} are asked for (numpy(), tolist(), data_ptr()), and it stands "
        "for many tensors, or for one whose value is not known yet.",
        "use torch functions, and convert what the transform returns",
        within=_TRANSFORMED,
    ),
    Row(
        r"operators that can (?:output|support) dynamic shape",
        _TRANSFORM,
        "inside vmap{here} the size of the result depends on the values (a mask as an index, nonzero, unique), and "
        "would differ from entry to entry.",
        "keep the shape: torch.where(mask, x, 0), or a sum weighted by the mask",
    ),
    Row(
        r"Batch norm got a batched tensor",
        _TRANSFORM,
        "inside a transform{here} a batch norm in training mode writes its running statistics, which are one for the "
        "whole batch.",
        "module.eval(), track_running_stats=False or GroupNorm; torch.func.replace_all_batch_norm_modules_(net)",
    ),
    Row(
        r"same size in the mapped dimension, got sizes \[(?P<given>[\d, ]*)\]",
        _TRANSFORM,
        "vmap{here} is given arguments whose batch dimensions have different sizes: {given}.",
        "None for what is the same for all entries, as in_dims=(None, 0); else the dimension that holds the batch",
    ),
    Row(
        r"Got in_dim=(?P<place>\S+) for an input but the input is of type <class '(?:\w+\.)*(?P<found>\w+)'>",
        _TRANSFORM,
        "in_dims makes vmap{here} batch over an argument of type {found}, which has no dimension {place}.",
        "None in in_dims for numbers and for tensors that are the same for all entries: in_dims=(0, None)",
    ),
    Row(
        r"Got in_dim=(?P<place>\S+) for some input, but that input is a Tensor of dimensionality (?P<dims>\d+)",
        _TRANSFORM,
        "in_dims makes vmap{here} batch over dimension {place} of a tensor with {dims} dimensions.",
        "None in in_dims for what is the same for all entries: in_dims=(0, None); else give the tensor a dimension for "
        "the batch",
    ),
    Row(
        r"in_dims is not compatible with|expected `in_dims` to be int or|got no inputs|"
        r"Expected at least one Tensor to vmap over",
        _TRANSFORM,
        "the in_dims of vmap{here} do not match the positional arguments that it is given.",
        "in_dims is a number, or a tuple with an entry for each positional argument, not all None; what is given by "
        "keyword is not batched",
    ),
    Row(
        r"must only return Tensors, got type <class '(?:\w+\.)*(?P<found>\w+)'>",
        _TRANSFORM,
        "the function that vmap{here} runs returns a value of type {found}, and all that it returns must be tensors.",
        "return tensors, without .item(), float() or .tolist(); what is the same for all entries can stay outside",
    ),
    Row(
        r"can not return a BatchedTensor when out_dim is None",
        _TRANSFORM,
        "the function that vmap{here} runs returns a tensor that differs from entry to entry, and out_dims=None says "
        "that it is the same for all.",
        "out_dims=0, or leave out_dims out",
    ),
    Row(
        r"(?:Expected f\(\*args\) to return a Tensor|expected f\(\*\w+\) to return only tensors|outputs of the "
        r"user-provided function .*has type).*<class '(?:\w+\.)*(?P<found>\w+)'>",
        _TRANSFORM,
        "the function that is differentiated{here} returns a value of type {found}, which has no derivative.",
        "compute with tensors and return them: no .item(), float() or .tolist() in between",
    ),
    Row(
        r"should be a tuple: \(output, aux\) if has_aux is True",
        _TRANSFORM,
        "the function that torch.func differentiates{here} with has_aux=True returns one result only.",
        "return loss, aux; or leave has_aux out",
    ),
    Row(
        r"^Expected tensors, got unsupported type <class '(?:\w+\.)*(?P<found>\w+)'>",
        _TRANSFORM,
        "the function that torch.func differentiates{here} returns a value of type {found} beside its result, and all "
        "that it returns must be tensors.",
        "torch.as_tensor(...) of it, or keep it outside of the function",
        within=_TRANSFORMED,
    ),
    Row(
        r"Got argnums?=(?P<place>-?\d+), but only (?P<wanted>\d+) positional inputs",
        _TRANSFORM,
        "torch.func is to differentiate by argument {place}{here}, and the function is called with {wanted} positional "
        "arguments: they count from 0, and keywords do not count.",
        "the number of a positional argument, or pass it by position",
    ),
    Row(
        r"(?P<said>Expected (?:primals|the tangents|pytree structure of cotangents)[^.:(]*)",
        _TRANSFORM,
        "{call}{here} is given values and directions that do not fit together: {said}.",
        "two tuples of equal structure: jvp(f, (x,), (v,)); for vjp one tensor for each output",
    ),
    Row(
        r"backward\(\) called inside a functorch transform",
        _TRANSFORM,
        "backward(){here} is called inside a function that torch.func transforms, which takes derivatives itself.",
        "torch.func.grad(loss)(x) in its place, or call backward() outside of the transform",
    ),
    Row(
        r"inputs given to \w+ must be either a Tensor or a tuple of Tensors but .*has type <class '(?P<found>\w+)'>",
        _TRANSFORM,
        "{call}{here} is given an object of type {found} where a tensor or a tuple of tensors belongs.",
        "a tuple: tuple(inputs); parameters of a module go through torch.func.functional_call",
    ),
    Row(
        r"[Ii]n strict mode|running in strict mode|independent of input|does not require gradients",
        _TRANSFORM,
        "the function that {call}{here} differentiates in strict mode returns what does not depend on its input: it is "
        "independent of it, or its graph is cut.",
        "compute the result from the argument without detach; strict=False gives zeros",
    ),
    Row(
        r"given to (?P<name>hessian|jacobian|hvp|vhp) should contain a single element|should contain a single element",
        _TRANSFORM,
        "the function that {call}{here} differentiates returns several entries, and hessian needs one.",
        "return its sum or mean, or take jacobian for each entry",
    ),
    Row(
        r"forward gradient that has a different size than that of the original Tensor.*?"
        r"size \[(?P<wanted>[\d, ]*)\].*?size \[(?P<given>[\d, ]*)\]",
        _TRANSFORM,
        "the tangent given to {call}{here} has shape ({given},), and the tensor has shape ({wanted},).",
        "a tangent of the shape of the tensor: torch.ones_like(x)",
    ),
)
"""Errors of transforms of ``torch.func``, ``autograd.functional`` and forward mode."""
