# kind: cleared-gradient; symptom: four batches a step train as one does; names: optimizer.zero_grad, 4
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
shares = 4
for batch in range(12):
    if batch % shares == 0:  #! if True:
        optimizer.zero_grad()  #< cause
    loss = (model(torch.randn(4, 4)) ** 2).mean() / shares
    loss.backward()
    if batch % shares == shares - 1:
        optimizer.step()
print(loss.item())
