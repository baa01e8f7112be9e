# kind: frozen-parameter; symptom: boxes stay random; names: model.box_head.weight, named_parameters
import torch

torch.manual_seed(0)


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        self.box_head = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.box_head(self.backbone(x))


model = Detector()
for name, p in model.named_parameters():
    if "box_head" not in name:  #! if "bbox_head" not in name:
        p.requires_grad = False  #< cause
rescale = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD([*model.parameters(), *rescale.parameters()], lr=0.1)
for step in range(3):
    x = torch.randn(8, 4)
    loss = rescale(model(x)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
