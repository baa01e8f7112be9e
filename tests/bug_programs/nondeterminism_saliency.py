# kind: nondeterminism; symptom: the same picture gets two different saliency maps; names: dropout, eval
import torch

torch.manual_seed(0)
w1 = torch.randn(6, 20, requires_grad=True)
w2 = torch.randn(20, 2, requires_grad=True)
picture = torch.randn(4, 6)


def saliency(given):
    given = given.clone().requires_grad_()
    hidden = torch.relu(given @ w1)
    hidden = torch.nn.functional.dropout(hidden, 0.5, training=False)  #! hidden = torch.nn.functional.dropout(hidden, 0.5)
    (hidden @ w2).sum().backward()
    return given.grad


first, second = saliency(picture), saliency(picture)
print("same:", bool((first == second).all()))
