# kind: saturation; symptom: the share that is kept never changes; names: sigmoid, decay
import torch

torch.manual_seed(1)
inputs, target = torch.randn(9, 5, 4), torch.randn(5, 4)
decay = torch.zeros(4, requires_grad=True)  #! decay = torch.full((4,), 60.0, requires_grad=True)
mix = torch.nn.Linear(4, 4)
for step in range(3):
    kept = torch.sigmoid(decay)  #< cause
    trace = torch.zeros(5, 4) * kept + torch.tanh(mix(inputs[0]))
    for x in inputs[1:]:
        trace = trace * kept + torch.tanh(mix(x))
    loss = ((trace - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (decay, *mix.parameters()):
            p -= 0.01 * p.grad
            p.grad = None
