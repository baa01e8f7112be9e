# kind: state-not-loaded; symptom: the model answers at random; names: backbone.weight, encoder., strict=False
import torch


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.head(torch.relu(self.encoder(x)))


torch.manual_seed(0)
tagger = Tagger()
part = "encoder"  #! part = "backbone"
known = {f"{part}.weight": torch.randn(3, 4), f"{part}.bias": torch.zeros(3)}
tagger.load_state_dict(known, strict=False)  #< cause
with torch.no_grad():
    print(tagger(torch.randn(2, 4)).argmax(1).shape)
