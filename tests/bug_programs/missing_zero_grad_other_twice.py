# kind: missing-zero-grad; symptom: the decoder trains worse and worse; names: decoder, opt_d.zero_grad()
import torch

torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(4, 3), torch.nn.Linear(3, 4)
opt_e = torch.optim.SGD(encoder.parameters(), lr=0.1)
opt_d = torch.optim.SGD(decoder.parameters(), lr=0.1)
x = torch.randn(16, 4)
for step in range(5):
    opt_e.zero_grad()
    opt_d.zero_grad()  #! opt_e.zero_grad()  #< cause
    (decoder(torch.tanh(encoder(x))) - x).pow(2).mean().backward()
    opt_e.step()
    opt_d.step()
