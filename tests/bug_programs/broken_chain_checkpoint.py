# kind: broken-chain; symptom: the first block never learns; names: first, reentrant, use_reentrant=False; torch only
import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
first = torch.randn(4, 4, requires_grad=True)
last = torch.randn(4, 1, requires_grad=True)


def block(batch):
    return torch.tanh(batch @ first)


def forward(batch):
    return checkpoint(block, batch, use_reentrant=False) @ last  #! return checkpoint(block, batch, use_reentrant=True) @ last


loss = forward(torch.randn(3, 4)).pow(2).mean()
loss.backward()
