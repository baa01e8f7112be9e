# kind: inference-tensor; symptom: Inference tensors cannot be saved for backward; names: features
import torch

torch.manual_seed(0)
images = torch.randn(6, 4)
backbone = torch.randn(4, 5)
head = torch.randn(5, 1, requires_grad=True)
with torch.no_grad():  #! with torch.inference_mode():
    features = torch.tanh(images @ backbone)  #< cause
loss = (features @ head).mean()
loss.backward()
