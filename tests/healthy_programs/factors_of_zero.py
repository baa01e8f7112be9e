import torch

# A factor of zero that grows, a gate that begins at zero, and parameters that only take part: none stops a gradient.
torch.manual_seed(13)
first, second = torch.randn(4, 6, requires_grad=True), torch.randn(4, 6, requires_grad=True)
gate, spare = torch.zeros(1, requires_grad=True), torch.randn(3, requires_grad=True)
head = torch.randn(6, 1, requires_grad=True)
opt = torch.optim.SGD([first, second, gate, spare, head], lr=0.01)
for step in range(4):
    x = torch.randn(8, 4)
    hidden = torch.tanh(x @ first) * (step / 4) + gate * torch.tanh(x @ second) + x @ first
    loss = (hidden @ head).pow(2).mean() + 0.0 * spare.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", float(loss.detach()) > 0)
