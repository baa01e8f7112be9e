# kind: zero-gradient; symptom: the loss is 0.0 from the first step on; names: cross_entropy, score, head.weight
import torch

torch.manual_seed(0)
body, head = torch.nn.Linear(5, 6), torch.nn.Linear(6, 2)  #! body, head = torch.nn.Linear(5, 6), torch.nn.Linear(6, 1)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
visits = torch.randn(30, 5)
bought = (visits[:, 0] > 0).long()  #! bought = torch.zeros(30, dtype=torch.long)
for step in range(4):
    score = head(torch.relu(body(visits)))
    loss = torch.nn.functional.cross_entropy(score, bought)  #< cause
    opt.zero_grad()
    loss.backward()
    opt.step()
print(float(loss.detach()))
