# kind: exploding; symptom: after one update all forecasts are nan; names: mul, mix
import torch

torch.manual_seed(0)
mix = torch.randn(6, 6, requires_grad=True)
share = 0.4  #! share = 2.5
shops = {name: torch.randn(length, 6) for name, length in (("north", 12), ("south", 9), ("east", 12))}


def forecast(series):
    state = torch.zeros(1, 6)
    for day in series:
        state = share * (state @ mix) + day  #< cause
    return state


loss = torch.stack([forecast(series).sum() for series in shops.values()]).mean()
loss.backward()
print(float(mix.grad.norm()))
