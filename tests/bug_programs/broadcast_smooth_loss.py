# kind: broadcast; symptom: the loss does not go below the variance; names: pred, y
import torch

torch.manual_seed(0)
x, y = torch.randn(12, 3), torch.randn(12)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
pred = model(x)
pred = pred.squeeze(-1)  #! pass
loss = torch.nn.functional.smooth_l1_loss(pred, y)  #< cause
loss.backward()
