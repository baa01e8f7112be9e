# kind: broken-chain; symptom: nothing is learned and nothing raises; names: item, requires_grad_
import torch

torch.manual_seed(0)
tide = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.SiLU(), torch.nn.Linear(6, 1))
optimizer = torch.optim.RMSprop(tide.parameters(), lr=0.01)


def error_of(heights, hours):
    total = 0.0
    for height, hour in zip(heights, hours, strict=True):
        miss = tide(hour).squeeze() - height
        total += miss.abs()  #! total += miss.abs().item()
    mean = torch.as_tensor(total / len(hours))
    return mean.requires_grad_()


for _ in range(4):
    hours = torch.rand(6, 3)
    error = error_of(hours.sin().sum(1), hours)
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
