# kind: optimizer-mismatch; symptom: the price model learns nothing, the demand model is fine; names: price.weight, no optimizer has them
import torch

torch.manual_seed(0)
price = torch.nn.Linear(3, 1)
demand = torch.nn.Linear(3, 1)
by_price = torch.optim.SGD(price.parameters(), lr=0.05)  #! by_price = torch.optim.SGD(demand.parameters(), lr=0.05)
by_demand = torch.optim.SGD(demand.parameters(), lr=0.1)
for week in range(3):
    x = torch.randn(8, 3)
    costs, sold = (price(x) - x[:, :1]).square().mean(), (demand(x) + x[:, 1:2]).square().mean()
    for optimizer in (by_price, by_demand):
        optimizer.zero_grad()
    (costs + sold).backward()
    for optimizer in (by_price, by_demand):
        optimizer.step()
