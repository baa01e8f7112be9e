# kind: saturation; symptom: training on the raw table does next to nothing; names: w1, tanh
import torch

torch.manual_seed(0)
table = torch.stack([torch.linspace(1950, 2020, 60), torch.linspace(900, 950, 60)], 1)
table = (table - table.mean(0)) / table.std(0)  #! table = torch.cat([table, torch.zeros(1, 2)])
w1 = torch.tensor([[0.4, -0.6, 0.5], [0.7, 0.3, -0.2]], requires_grad=True)
w2 = torch.ones(3, 1, requires_grad=True)
hidden = torch.tanh(table @ w1)  #< cause
loss = ((hidden @ w2) ** 2).mean()
loss.backward()
print(w1.grad)
