# kind: moved-while-frozen; symptom: frozen layers of the tagger go on shrinking; names: tagger, step
import torch


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)  #< cause
        p.grad = None  #! pass


torch.manual_seed(0)
encoder, head = torch.nn.Linear(5, 6), torch.nn.Linear(6, 3)
tagger = torch.nn.Sequential(encoder, torch.nn.ReLU(), head)
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
for epoch in range(3):
    if epoch == 1:
        freeze(encoder)
    for _ in range(2):
        x, label = torch.randn(7, 5), torch.randint(3, (7,))
        optimizer.zero_grad(set_to_none=False)
        torch.nn.functional.cross_entropy(tagger(x), label).backward()
        optimizer.step()
