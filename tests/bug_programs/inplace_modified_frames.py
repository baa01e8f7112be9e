# kind: inplace-modified; symptom: backward of the rollout raises; names: frames = frames.clone(), torch.stack
import torch

torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True)
frames = torch.zeros(4, 2, 4)
for t in range(3):
    frame = frames[t].clone()  #! frame = frames[t]
    frames[t + 1] = torch.sigmoid(frame) * frame + torch.ones(2, 4) @ w  #< cause
loss = (frames - 1.0).pow(2).mean()
loss.backward()
