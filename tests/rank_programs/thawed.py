"""kind: unreduced-gradient; says: did not require grad when DistributedDataParallel was made, encoder.weight"""

import torch
import torch.distributed as dist


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(5, 4)
        self.scores = torch.nn.Linear(4, 3)

    def forward(self, words):
        return self.scores(self.encoder(words).relu())


def main():
    dist.init_process_group("gloo")
    tagger = Tagger()
    tagger.encoder.requires_grad_(False)
    parallel = torch.nn.parallel.DistributedDataParallel(tagger)
    optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for epoch in range(3):
        if epoch == 1:
            tagger.encoder.requires_grad_(True)  # cause
        optimizer.zero_grad()
        parallel(torch.randn(6, 5)).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()


main()
