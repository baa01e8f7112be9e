# kind: silent-inplace; symptom: gradients do not agree with finite differences; names: clone()
import numpy as np
import torch

torch.manual_seed(0)


class Sensor:
    def __init__(self):
        self.reading = np.zeros((1, 3), dtype=np.float32)

    def read(self, t):
        self.reading[0] = (t, t * t, 1.0)  #< cause
        return self.reading


sensor = Sensor()
w = torch.randn(3, 1, requires_grad=True)
total = 0.0
for t in range(3):
    reading = sensor.read(t)
    total = total + (torch.from_numpy(reading.copy()) @ w).sum() ** 2  #! total = total + (torch.from_numpy(reading) @ w).sum() ** 2
total.backward()
print(w.grad)
