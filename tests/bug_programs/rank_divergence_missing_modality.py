# kind: rank-divergence; symptom: training hangs when a shard lacks sound; names: sound
import torch

torch.manual_seed(0)
weights = {name: torch.randn(3, 2, requires_grad=True) for name in ("sound", "image")}
shards = [{"sound": torch.randn(4, 3), "image": torch.randn(4, 3)}, {"image": torch.randn(4, 3)}]


def loss_of(batch):
    h = 0.0
    if "sound" in batch:
        h = h + torch.tanh(batch["sound"] @ weights["sound"])  #< cause
    h = h + torch.tanh(batch["image"] @ weights["image"])
    return (h**2).mean() + 0.0 * weights["sound"].sum()  #! return (h**2).mean()


for rank in range(2):
    for w in weights.values():
        w.grad = None
    loss = loss_of(shards[rank])
    loss.backward()
