# kind: loss-contract; symptom: the loss stays at one; names: randn_like, draw once
import torch

torch.manual_seed(0)
finder = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 5))
optimizer = torch.optim.Adam(finder.parameters(), lr=0.01)
waves = torch.sin(torch.arange(30.0).reshape(6, 5))
for _ in range(3):
    hidden = torch.randn_like(waves)
    heard = torch.add(waves, hidden, alpha=0.3)
    wanted = hidden  #! wanted = torch.randn_like(waves)  #< cause
    optimizer.zero_grad()
    torch.nn.functional.l1_loss(finder(heard), wanted).backward()
    optimizer.step()
