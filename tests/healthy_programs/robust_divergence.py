import torch

# A divergence between clean and disturbed inputs lets both sides move; labels hold the clean one.
torch.manual_seed(0)
data = torch.randn(24, 6)
label = (data[:, 0] > 0).long()
w1 = (torch.randn(6, 12) * 0.4).requires_grad_()
w2 = (torch.randn(12, 2) * 0.4).requires_grad_()
optimizer = torch.optim.SGD([w1, w2], lr=0.1)


def network(x):
    return torch.tanh(x @ w1) @ w2


for step in range(3):
    clean = network(data)
    disturbed = torch.log_softmax(network(data + 0.1 * torch.randn(24, 6).sign()), 1)
    robust = torch.nn.functional.kl_div(disturbed, torch.softmax(clean, 1), reduction="batchmean")
    loss = torch.nn.functional.cross_entropy(clean, label) + 2.0 * robust
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(step, bool(torch.isfinite(loss)))
