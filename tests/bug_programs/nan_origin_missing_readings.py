# kind: nan-origin; symptom: gradient of NaN although missing readings are masked; names: readings, mask before
import torch

readings = torch.tensor([0.5, float("nan"), 2.0])
seen = ~torch.isnan(readings)
gain = torch.ones(3, requires_grad=True)
filled = torch.where(seen, readings, torch.zeros(3))
scaled = gain * filled  #! scaled = gain * readings
loss = torch.where(seen, scaled, torch.zeros(3)).sum()
loss.backward()
print(gain.grad)
