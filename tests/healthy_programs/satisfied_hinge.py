import torch

torch.manual_seed(2)
x = torch.randn(20, 2)
label = (x.sum(1) > 0).float() * 2 - 1
x = x + 3.0 * label.reshape(20, 1)
w = torch.zeros(2, requires_grad=True)
anchors = torch.randn(6, 2, requires_grad=True)
for step in range(12):
    margin = torch.clamp(1.0 - label * (x @ w), min=0.0).mean()
    apart = ((x[:, None, :] - anchors[None, :, :]) ** 2).sum(-1)
    loss = margin + torch.relu(0.01 - apart).sum(1).mean()
    loss.backward()
    print("margin", margin.item() >= 0, w.grad.shape)
    with torch.no_grad():
        w -= 0.5 * w.grad
    w.grad = anchors.grad = None
