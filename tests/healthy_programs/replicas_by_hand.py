import copy

import torch

nn = torch.nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
replicas = [copy.deepcopy(model) for _ in range(2)]
optimizers = [torch.optim.SGD(replica.parameters(), 0.05) for replica in replicas]
for step in range(2):
    for rank, replica in enumerate(replicas):
        x = torch.randn(8, 4) + rank
        loss = (replica(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizers[rank].zero_grad()
        loss.backward()
    for group in zip(*(replica.parameters() for replica in replicas)):
        mean = torch.stack([p.grad for p in group]).mean(0)
        for p in group:
            p.grad.copy_(mean)
    for optimizer in optimizers:
        optimizer.step()
print("loss", loss.item() < 1e9)
