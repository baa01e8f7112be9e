# kind: rank-divergence; symptom: the all-reduce of the second worker never returns; names: image.weight, ranks
import torch


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.image = torch.nn.Linear(4, 2), torch.nn.Linear(5, 2)

    def forward(self, sample):
        h = self.text(sample["text"])
        seen = sample.get("image", torch.zeros(3, 5))  #! seen = sample.get("image")
        if seen is not None:
            h = h + self.image(seen)  #< cause
        return torch.relu(h).mean()


torch.manual_seed(0)
shards = [{"text": torch.randn(3, 4), "image": torch.randn(3, 5)}, {"text": torch.randn(3, 4)}]
replicas = [Both() for _ in shards]
replicas[1].load_state_dict(replicas[0].state_dict())
for rank in range(2):
    replicas[rank](shards[rank]).backward()
