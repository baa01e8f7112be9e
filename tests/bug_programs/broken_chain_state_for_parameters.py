# kind: broken-chain; symptom: the start of the inner steps never learns; names: base.state_dict(), named_parameters
import torch

torch.manual_seed(0)
base = torch.nn.Linear(3, 1)
outer = torch.optim.SGD(base.parameters(), lr=0.1)


def adapted(x):
    start = {k: w * 1 for k, w in base.named_parameters()}  #! start = {k: w * 1 for k, w in base.state_dict().items()}
    for w in start.values():
        w.requires_grad_()
    error = torch.func.functional_call(base, start, (x,)).square().mean()
    slopes = torch.autograd.grad(error, list(start.values()), create_graph=True)
    return {k: w - 0.1 * slope for (k, w), slope in zip(start.items(), slopes, strict=True)}


for _ in range(3):
    x = torch.randn(6, 3)
    loss = torch.func.functional_call(base, adapted(x), (x,)).square().mean()
    outer.zero_grad()
    loss.backward()
    outer.step()
