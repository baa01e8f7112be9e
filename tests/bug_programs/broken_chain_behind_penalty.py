# kind: broken-chain; symptom: the encoder only shrinks; names: encode, penalty
import torch

torch.manual_seed(0)
encode, decode = torch.nn.Linear(6, 3), torch.nn.Linear(3, 6)
everything = [*encode.parameters(), *decode.parameters()]
optimizer = torch.optim.SGD(everything, lr=0.05)
for _ in range(4):
    x = torch.randn(10, 6)
    code = torch.tanh(encode(x))  #! code = torch.tanh(encode(x)).detach()
    fit = torch.nn.functional.l1_loss(decode(code), x)
    shrink = sum(weight.square().sum() for weight in everything)
    total = fit + 0.01 * shrink
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
