# kind: broadcast; symptom: the result depends on the size of the batch; names: amax, keepdim=True
import torch

torch.manual_seed(0)
mix = torch.nn.Linear(4, 6)
optimizer = torch.optim.SGD(mix.parameters(), lr=0.1)
for _ in range(3):
    levels = mix(torch.randn(6, 4))
    peaks = torch.amax(levels, -1, keepdim=True)  #! peaks = torch.amax(levels, -1)  #< cause
    optimizer.zero_grad()
    torch.exp(levels.sub(peaks)).log1p().mean().backward()
    optimizer.step()
