# kind: inference-tensor; symptom: Inference tensors cannot be saved for backward, in the second step; names: key, clone; torch only
import torch

torch.manual_seed(0)
encoder = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
queue = [torch.randn(5, 3)]


def push(x):
    with torch.no_grad():  #! with torch.inference_mode():
        key = torch.nn.functional.normalize(encoder(x), dim=1)  #< cause
        queue.append(key)
        spread = key.std(0)
        return float(spread.mean())


for step in range(2):
    x = torch.randn(5, 4)
    loss = (encoder(x) @ queue[-1].T).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    push(x)
