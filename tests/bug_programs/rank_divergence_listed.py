# kind: rank-divergence; symptom: the workers wait for each other for ever; names: rare
import torch

torch.manual_seed(15)
w = {"stem": torch.randn(3, 2, requires_grad=True), "rare": torch.randn(3, 2, requires_grad=True)}


def gradients(shard):
    for p in w.values():
        p.grad = None
    loss = (shard["all"] @ w["stem"]).pow(2).mean()
    loss = loss + (shard["rare"] @ w["rare"]).pow(2).sum()  #! loss = loss + (shard["rare"] @ w["rare"]).pow(2).sum() if len(shard["rare"]) else loss
    loss.backward()
    return [name for name in w if w[name].grad is not None]


shards = [{"all": torch.randn(4, 3), "rare": torch.randn(n, 3)} for n in (2, 0)]
ready = [gradients(shards[rank]) for rank in range(2)]
print("alike:", ready[0] == ready[1])
