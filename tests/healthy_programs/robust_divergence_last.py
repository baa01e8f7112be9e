import torch

# Labels first, then a divergence from the same clean outputs: two runs, one step.
torch.manual_seed(0)
data = torch.randn(24, 6)
label = (data[:, 0] > 0).long()
network = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    clean = network(data)
    torch.nn.functional.cross_entropy(clean, label).backward(retain_graph=True)
    noisy = torch.log_softmax(network(data + 0.1), 1)
    robust = torch.nn.functional.kl_div(noisy, torch.softmax(clean, 1), reduction="batchmean")
    robust.backward()
    optimizer.step()
print(step, bool(torch.isfinite(robust)))
