# kind: loss-contract; symptom: the loss stays near one; names: softmax, cross_entropy, scores
import torch

torch.manual_seed(0)
weight = torch.zeros(4, 3, requires_grad=True)
rows, kinds = torch.rand(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
for step in range(3):
    shares = rows @ weight  #! shares = torch.softmax(rows @ weight, dim=1)
    loss = torch.nn.functional.cross_entropy(shares, kinds)
    weight.grad = None
    loss.backward()
    with torch.no_grad():
        weight -= 0.5 * weight.grad
