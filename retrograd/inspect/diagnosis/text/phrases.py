"""Key phrases of exceptions, the same on both engines, by which a check knows its symptom."""

from __future__ import annotations

NO_GRAPH = "does not require grad and does not have a grad_fn"
NOT_REQUIRED = "One of the differentiated Tensors does not require grad"
LEAF_WRITTEN = "leaf Variable that requires grad"
NOT_OPTIMIZABLE = "can't optimize a non-leaf"
NO_DEEPCOPY = "support the deepcopy protocol"
MODIFIED = "modified by an inplace operation"
OVERLAPPING = "refers to a single memory location"
VIEW_NO_GRAD = "was created in no_grad mode"
VIEW_INFERENCE = "was created in inference mode"
FREED = "backward through the graph a second time"
UNUSED = "appears to not have been used in the graph"
UNREDUCED = "Expected to have finished reduction in the prior iteration"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
INFERENCE = "nference tensor"
EMPTY_OPTIMIZER = "empty parameter list"
