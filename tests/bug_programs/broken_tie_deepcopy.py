# kind: broken-tie; symptom: input and output vectors of a word drift apart; names: out, words, a separate leaf
import copy

import torch

torch.manual_seed(0)
words = torch.nn.Parameter(torch.randn(7, 4) * 0.3)
out = words  #! out = copy.deepcopy(words)
mix = torch.nn.Parameter(copy.deepcopy(torch.eye(4)))
opt = torch.optim.SGD([words, mix] if out is words else [words, out, mix], lr=0.1)
for step in range(3):
    ids = torch.randint(0, 7, (5,))
    hidden = torch.nn.functional.embedding(ids, words) @ mix
    loss = torch.nn.functional.cross_entropy(hidden @ out.t(), ids)
    opt.zero_grad()
    loss.backward()
    opt.step()
