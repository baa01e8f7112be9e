# kind: optimizer-mismatch; symptom: the loss stays as it is over all epochs; names: learn.step, never reached
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
learn = torch.optim.AdamW(net.parameters(), lr=0.01)
shares = 2  #! shares = 8
for epoch in range(3):
    for place, (x, label) in enumerate([(torch.randn(5, 4), torch.randint(2, (5,))) for _ in range(4)], 1):
        loss = torch.nn.functional.cross_entropy(net(x), label) / shares
        loss.backward()
        if place % shares == 0:
            learn.step()  #< cause
            learn.zero_grad()
