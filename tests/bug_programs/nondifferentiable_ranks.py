# kind: nondifferentiable; symptom: the loss stays as it is; names: w, argsort
import torch

torch.manual_seed(0)
w = torch.randn(5, requires_grad=True)
docs, gold = torch.randn(9, 5), torch.arange(9.0)
for step in range(2):
    scores = docs @ w
    ranks = torch.sigmoid(scores[:, None] - scores).sum(0)  #! ranks = torch.argsort(torch.argsort(scores)).float()
    ranks = ranks * 1.0  #! ranks.requires_grad_()
    loss = ((ranks - gold) ** 2).mean()
    loss.backward()
    print(loss.item(), w.grad)
    w.grad = None
