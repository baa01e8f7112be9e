# kind: optimizer-mismatch; symptom: the filter stays as it was drawn; names: smooth.weight, 3 passes, others made for that pass
import torch
import copy


class Cleaner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.smooth = torch.nn.Conv1d(1, 2, 3)
        self.mix = torch.nn.Linear(2, 1)

    def forward(self, sound):
        return self.mix(self.smooth(sound).mT)  #! return self.mix(copy.deepcopy(self.smooth)(sound).mT)


torch.manual_seed(0)
cleaner = Cleaner()
optimizer = torch.optim.Adam(cleaner.parameters(), lr=0.01)
for _ in range(3):
    sound = torch.randn(4, 1, 12)
    optimizer.zero_grad()
    (cleaner(sound) - sound[:, 0, 1:-1, None]).square().mean().backward()
    optimizer.step()
