# kind: broken-chain; symptom: the adapters stay as drawn; names: adapter, reentrant checkpoint
import torch

torch.manual_seed(0)
again = torch.utils.checkpoint.checkpoint
stem = torch.nn.Linear(5, 5)
stem.requires_grad_(False)
adapter, head = torch.nn.Linear(5, 5), torch.nn.Linear(5, 1)
optimizer = torch.optim.SGD([*adapter.parameters(), *head.parameters()], lr=0.1)


class Layer(torch.nn.Module):
    def forward(self, h):
        shifted = adapter(h)

        scaled = shifted.tanh()

        return h + scaled


layer = Layer()
for _ in range(3):
    x = torch.randn(6, 5)
    hidden = stem(x)


    out = again(layer, hidden, use_reentrant=False)  #! out = again(layer, hidden, use_reentrant=True)


    loss = (head(out).squeeze(1) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
