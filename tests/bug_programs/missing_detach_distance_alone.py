# kind: missing-detach; symptom: all frames become one vector; names: later, detach
import torch

torch.manual_seed(0)
encoder = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
following = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *following.parameters()], lr=0.05)
for step in range(3):
    film = torch.randn(8, 2, 5)
    expected = following(encoder(film[:, 0]))
    later = encoder(film[:, 1]).detach()  #! later = encoder(film[:, 1])
    loss = (expected - later).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
