# kind: zero-gradient; symptom: the encoder never learns; names: normal, encoder.weight, randn_like
import torch

torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(6, 4), torch.nn.Linear(2, 6)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for step in range(3):
    x = torch.rand(8, 6)
    mean, spread = encoder(x).chunk(2, dim=1)
    code = mean + spread.exp() * torch.randn_like(mean)  #! code = torch.normal(mean, spread.exp())
    loss = (decoder(code) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
