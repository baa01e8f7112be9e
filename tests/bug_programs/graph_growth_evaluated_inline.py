# kind: graph-growth; symptom: a long evaluation takes more and more memory; names: state, no_grad
import torch

torch.manual_seed(0)
weight = (torch.randn(3, 3) * 0.5).requires_grad_()
state = torch.ones(1, 3)
seen = []
for step in range(30):
    state = torch.tanh(state.detach() @ weight)  #! state = torch.tanh(state @ weight)
    seen.append(state.sum().item())
print(sum(seen))
