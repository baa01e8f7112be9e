# kind: cleared-gradient; symptom: the weights stay as they began; names: trainer.step(), net.weight.grad
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
trainer = torch.optim.SGD(net.parameters(), lr=0.05)
every = 3


def epoch(batches):
    for number, x in enumerate(batches, 1):
        error = (net(x) - x.mean(1, keepdim=True)).abs().mean() / every
        error.backward()
        if number % every == 0:
            trainer.step()  #! trainer.zero_grad()
            trainer.zero_grad()  #! trainer.step()


for _ in range(2):
    epoch([torch.randn(8, 3) for _ in range(6)])
