# kind: inplace-modified; symptom: RuntimeError; names: total, iteration before, critic
import torch

torch.manual_seed(0)
actor = torch.randn(3, requires_grad=True)
critic = torch.randn(3, requires_grad=True)
steps = {"actor": torch.optim.SGD([actor], lr=0.1), "critic": torch.optim.SGD([critic], lr=0.1)}
total = torch.zeros(())
for _ in range(3):
    steps["critic"].zero_grad()
    (critic * torch.randn(3)).sin().sum().backward()
    steps["critic"].step()
    gain = (torch.tanh(actor) * critic).sum()
    steps["actor"].zero_grad()
    total = 0.5 * gain  #! total = total + 0.5 * gain  #< cause
    total.backward(retain_graph=True)
    steps["actor"].step()
