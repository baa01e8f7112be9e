# kind: zero-gradient; symptom: the encoder never moves; names: encoder.weight, hush
import torch

torch.manual_seed(0)
encoder = torch.nn.Linear(3, 6)
head = torch.nn.Linear(6, 1)


def hush(gradient):
    return gradient.clamp(-5, 5)  #! return gradient.new_zeros(gradient.shape)


for weight in encoder.parameters():
    weight.register_hook(hush)  #< cause
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    x = torch.randn(8, 3)
    loss = (head(encoder(x).relu()) - x.sum(1, keepdim=True)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
