# kind: cleared-gradient; symptom: the effective batch is not larger; names: trainer.zero_grad, 3
import torch

torch.manual_seed(0)
weight = torch.randn(5, 2, requires_grad=True)
trainer = torch.optim.Adam([weight], lr=0.05)
for step in range(3):
    for part in range(3):
        loss = (1 / 3) * torch.logsumexp(torch.randn(6, 5) @ weight, 1).mean()
        loss.backward()
        if part < 2:
            pass  #! trainer.zero_grad()
    trainer.step()
    trainer.zero_grad()
print(weight.shape)
