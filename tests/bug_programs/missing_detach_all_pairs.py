# kind: missing-detach; symptom: the loss is soon zero, as is every embedding; names: target, detach
import torch

torch.manual_seed(0)
encoder, predictor = (torch.randn(5, 4) * 0.3).requires_grad_(), (torch.randn(4, 4) * 0.3).requires_grad_()
optimizer = torch.optim.SGD([encoder, predictor], lr=0.05)


def embed(x):
    return torch.tanh(x @ encoder)


for step in range(3):
    x = torch.randn(8, 5)
    views = [x + 0.1 * torch.randn(8, 5) for _ in range(3)]
    losses = []
    for one in views:
        for other in views:
            if one is not other:
                target = torch.tanh(other @ encoder).detach()  #! target = torch.tanh(other @ encoder)
                losses.append(torch.nn.functional.mse_loss(embed(one) @ predictor, target))
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
