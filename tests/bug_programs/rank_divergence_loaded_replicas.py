# kind: rank-divergence; symptom: the ranks wait for each other's gradients; names: experts.1
import torch


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(4, 2)
        self.experts = torch.nn.ModuleList([torch.nn.Linear(4, 1) for _ in range(2)])

    def forward(self, x):
        share = self.gate(x).softmax(-1).mean(0)
        if x.shape[0] == 0:  #! if x.mean() < 0:
            return share[0] * self.experts[0](x)
        return share[0] * self.experts[0](x) + share[1] * self.experts[1](x)


torch.manual_seed(0)
replicas = [Experts() for _ in range(2)]
replicas[1].load_state_dict(replicas[0].state_dict())
shards = [torch.rand(6, 4), -torch.rand(6, 4)]
for rank in range(2):
    replicas[rank](shards[rank]).pow(2).mean().backward()
    print(rank, [name for name, p in replicas[rank].named_parameters() if p.grad is not None])
