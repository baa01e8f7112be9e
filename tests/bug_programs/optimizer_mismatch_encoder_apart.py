# kind: optimizer-mismatch; symptom: codes stay as random as at first; names: encoder.weight, encoder.bias, optimizer
import torch

torch.manual_seed(0)
encoder = torch.nn.Linear(6, 3)
decoder = torch.nn.Sequential(torch.nn.Linear(3, 8, bias=False), torch.nn.ReLU(), torch.nn.Linear(8, 6, bias=False))
both = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(both, lr=1e-2)  #! optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(16, 6)
    loss = (decoder(torch.tanh(encoder(x))) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
