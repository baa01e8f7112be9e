# kind: zero-gradient; symptom: the router never learns; names: softmax, size 1, router
import torch

torch.manual_seed(3)
router = (torch.randn(4, 3) * 0.5).requires_grad_()
experts = [(torch.randn(4, 1) * 0.5).requires_grad_() for _ in range(3)]
x = torch.randn(24, 4)
y = x[:, :1].abs()
for step in range(3):
    best, which = (x @ router).topk(2, dim=1)  #! best, which = (x @ router).topk(1, dim=1)
    share = torch.softmax(best, dim=1)  #< cause
    given = torch.stack([x @ expert for expert in experts], 1).squeeze(2)
    loss = ((share * given.gather(1, which)).sum(1, keepdim=True) - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (router, *experts):
            p -= 0.1 * p.grad
            p.grad = None
