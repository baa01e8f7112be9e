# kind: freed-graph; symptom: the second head cannot be run backward; names: after the loop, retain_graph
import torch

torch.manual_seed(0)
w = torch.randn(3, 4, requires_grad=True)
heads = [torch.randn(4, 1, requires_grad=True) for _ in range(2)]
h = torch.tanh(torch.randn(8, 3) @ w)
for out in [h @ head for head in heads]:
    loss = out.pow(2).mean()
    loss.backward(retain_graph=True)  #! loss.backward()
