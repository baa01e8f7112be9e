# kind: deepcopy-nonleaf; symptom: Only Tensors created explicitly by the user support the deepcopy protocol; names: scaled
import copy

import torch

base = torch.ones(4, requires_grad=True)
scaled = base * 2.0
state = {"scaled": scaled.detach()}  #! state = {"scaled": scaled}
snapshot = copy.deepcopy(state)  #< cause
scaled.sum().backward()
