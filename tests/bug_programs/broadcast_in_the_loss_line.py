# kind: broadcast; symptom: the fit is worse than a constant; names: heights, (12, 1)
import torch

torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(12, 2)
    heights = x.prod(1)
    fitted = net(x).flatten()
    loss = torch.nn.functional.huber_loss(fitted, heights)  #! loss = torch.nn.functional.huber_loss(fitted, heights.reshape(-1, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
