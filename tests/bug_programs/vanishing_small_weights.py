# kind: vanishing; symptom: every layer gets next to nothing; names: layers[0], shrinks
import torch

torch.manual_seed(0)
layers = [(torch.randn(8, 8) * 0.4).requires_grad_() for _ in range(16)]  #! layers = [(torch.randn(8, 8) * 0.04).requires_grad_() for _ in range(16)]
head = torch.randn(8, 1, requires_grad=True)
h = torch.randn(12, 8)
for w in layers:
    h = torch.tanh(h @ w)  #< cause
loss = (h @ head - torch.ones(12, 1)).pow(2).mean()
loss.backward()
