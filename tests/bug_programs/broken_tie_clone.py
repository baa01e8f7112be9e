# kind: broken-tie; symptom: decoder and encoder drift apart; names: decoder
import torch

torch.manual_seed(0)
x = torch.randn(6, 4)
encoder = torch.randn(4, 2, requires_grad=True)
decoder = encoder  #! decoder = encoder.detach().clone().requires_grad_(True)
for step in range(3):
    code = torch.tanh(x @ encoder)
    loss = ((code @ decoder.t() - x) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in {id(encoder): encoder, id(decoder): decoder}.values():
            p -= 0.1 * p.grad
            p.grad = None
