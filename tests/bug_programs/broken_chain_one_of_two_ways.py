# kind: broken-chain; symptom: the spread of the codes does not learn from what is decoded; names: spread, encode, tolist
import torch

torch.manual_seed(0)
encode, decode = torch.nn.Linear(5, 4), torch.nn.Linear(2, 5)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)


def drawn(centre, spread):
    noise = torch.randn(centre.shape)
    return centre + noise * spread  #! return centre + noise * torch.tensor(spread.tolist())


for _ in range(4):
    x = torch.randn(9, 5)
    centre, narrow = encode(x).split(2, dim=1)
    spread = narrow.mul(0.5).exp()
    made = decode(drawn(centre, spread))
    prior = (centre.square() + narrow.exp() - narrow - 1).mean()
    bound = (made - x).square().mean() + 0.1 * prior
    optimizer.zero_grad()
    bound.backward()
    optimizer.step()
