# kind: ddp-ready-twice; symptom: RuntimeError in the second backward call, on several machines only; names: body, add the losses
import torch

torch.manual_seed(0)
body, left, right = (torch.randn(*size, requires_grad=True) for size in ((4, 5), (5, 2), (5, 3)))
ready = []


def bucket(p, name):
    def mark(grad):
        if name in ready:
            raise RuntimeError(f"{name} was sent already")
        ready.append(name)

    p.register_hook(mark)


for name, p in (("body", body), ("left", left), ("right", right)):
    bucket(p, name)
for step in range(2):
    ready.clear()
    shared = torch.tanh(torch.randn(6, 4) @ body)
    losses = [(shared @ left).square().mean(), (shared @ right).square().mean()]
    pass  #! losses[0].backward(retain_graph=True)
    sum(losses).backward()  #! losses[1].backward()  #< cause
    with torch.no_grad():
        for p in (body, left, right):
            p -= 0.1 * p.grad
            p.grad = None
