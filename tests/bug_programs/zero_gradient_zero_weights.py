# kind: zero-gradient; symptom: the network learns the mean and nothing else; names: linear, both factors, zero
import torch

torch.manual_seed(0)
layers = [torch.nn.Linear(6, 10), torch.nn.Linear(10, 10), torch.nn.Linear(10, 1)]
for layer in layers[:-1]:  #! for layer in layers:
    torch.nn.init.zeros_(layer.bias)  #! torch.nn.init.zeros_(layer.weight), torch.nn.init.zeros_(layer.bias)
optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=0.01)
rows, wanted = torch.randn(25, 6), torch.randn(25, 1)
for epoch in range(3):
    hidden = torch.tanh(layers[1](torch.tanh(layers[0](rows))))
    miss = (layers[2](hidden) - wanted).pow(2).mean()  #< cause
    optimizer.zero_grad()
    miss.backward()
    optimizer.step()
