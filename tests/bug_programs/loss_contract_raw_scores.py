# kind: loss-contract; symptom: the loss falls below any bound; names: nll_loss, log_softmax
import torch

torch.manual_seed(0)
weight = torch.rand(4, 3, requires_grad=True)
rows, kinds = torch.rand(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
for step in range(3):
    scores = rows @ weight
    told = torch.log_softmax(scores, 1)
    loss = torch.nn.functional.nll_loss(told, kinds)  #! loss = torch.nn.functional.nll_loss(scores, kinds)
    weight.grad = None
    loss.backward()
    with torch.no_grad():
        weight -= 0.5 * weight.grad
