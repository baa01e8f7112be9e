import torch

# The clean side of a divergence is computed again from the inputs at which labels hold it: in one sum, and in two runs.
torch.manual_seed(0)
data = torch.randn(24, 6)
label = (data[:, 0] > 0).long()
w1 = (torch.randn(6, 12) * 0.4).requires_grad_()
w2 = (torch.randn(12, 2) * 0.4).requires_grad_()
optimizer = torch.optim.SGD([w1, w2], lr=0.1)


def network(x):
    return torch.tanh(x @ w1) @ w2


def divergence(p, q):
    return torch.nn.functional.kl_div(torch.log_softmax(p, 1), torch.softmax(q, 1), reduction="batchmean")


for step in range(2):
    disturbed = data + 0.1 * torch.randn(24, 6).sign()
    supervised = torch.nn.functional.cross_entropy(network(data), label)
    optimizer.zero_grad()
    (supervised + 2.0 * divergence(network(disturbed), network(data))).backward()
    optimizer.step()
for step in range(2):
    disturbed = data + 0.1 * torch.randn(24, 6).sign()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(data), label).backward()
    (0.5 * divergence(network(disturbed), network(data))).backward()
    optimizer.step()
print(step, bool(torch.isfinite(supervised)))
