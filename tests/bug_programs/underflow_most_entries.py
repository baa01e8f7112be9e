# kind: underflow; symptom: most weights stay as they were; names: float16, scale the loss, weight; torch only
import torch

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).half()
scale = 16384.0  #! scale = 1.0
for _ in range(2):
    out = network(torch.randn(24, 12).half())
    loss = 1e-6 * (out.float() - 0.5).pow(2).mean()  #< cause
    network.zero_grad()
    (loss * scale).backward()
