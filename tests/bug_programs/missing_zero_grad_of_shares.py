# kind: missing-zero-grad; symptom: steps grow from one to the next; names: net.weight.grad, trainer.zero_grad()
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
trainer = torch.optim.SGD(net.parameters(), lr=0.05)
for number in range(1, 13):
    x = torch.randn(8, 3)
    error = (net(x) - x.mean(1, keepdim=True)).abs().mean() / 4
    error.backward()  #< cause
    if number % 4 == 0:
        trainer.step()
        trainer.zero_grad()  #! pass
