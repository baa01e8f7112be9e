# kind: nondeterminism; symptom: a step does not give the gradient that it gave before; names: noise, randn, manual_seed
import torch

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
x = torch.randn(10, 4)
grads = []
for step in range(2):
    w.grad = None
    torch.manual_seed(1)  #! torch.initial_seed()
    noise = torch.randn(10, 4)  #< cause
    (((x + 0.1 * noise) @ w) ** 2).mean().backward()
    grads.append(w.grad.clone())
print("equal:", torch.equal(grads[0], grads[1]))
