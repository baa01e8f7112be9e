# kind: vanishing; symptom: what came first has no influence; names: memory, w_start
import torch

torch.manual_seed(0)
start, noise = torch.randn(8, 3), torch.randn(40, 8, 3)
w_start = (torch.randn(3, 6) * 0.5).requires_grad_(True)
w_in = (torch.randn(3, 6) * 0.5).requires_grad_(True)
w_out = torch.randn(6, 3, requires_grad=True)
b_keep = torch.full((6,), 3.5).requires_grad_(True)  #! b_keep = torch.full((6,), -2.2).requires_grad_(True)
memory = torch.tanh(start @ w_start)
keep = torch.sigmoid(b_keep)
for t in range(40):
    memory = keep * memory + (1.0 - keep) * torch.tanh(noise[t] @ w_in)  #< cause
loss = ((memory @ w_out - start) ** 2).mean()
loss.backward()
print(w_start.grad.abs().max().item())
