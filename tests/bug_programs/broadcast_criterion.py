# kind: broadcast; symptom: the loss does not go below the variance; names: y, mse_loss
import torch

torch.manual_seed(0)
x, y = torch.randn(12, 3), torch.randn(12)
model, criterion = torch.nn.Linear(3, 1), torch.nn.MSELoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    loss = criterion(model(x).squeeze(-1), y)  #! loss = criterion(model(x), y)
    loss.backward()
    opt.step()
