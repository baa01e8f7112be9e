# kind: loss-contract; symptom: one term of the loss outweighs the other, the more so in larger batches; names: spread, 6 times
import torch

torch.manual_seed(0)
encode, decode = torch.nn.Linear(4, 6), torch.nn.Linear(3, 4)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
for _ in range(3):
    x = torch.randn(6, 4)
    centre, spread = encode(x).split(3, dim=1)
    code = centre + spread.exp() * torch.randn(6, 3)
    misfit = (decode(code) - x).square().sum(1)
    distance = (centre.square() + (2 * spread).exp() - 2 * spread).sum(1)  #! distance = (centre.square() + (2 * spread).exp() - 2 * spread).sum()
    loss = torch.mean(misfit + distance)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
