# kind: slow-node; symptom: the step is slow since the weight is a rotation; names: matrix_exp, ms; torch only
import torch

torch.manual_seed(0)
raw = (torch.randn(480, 480) * 0.003).requires_grad_()
x, y = torch.randn(4, 480), torch.randn(4, 480)
for step in range(2):
    skew = raw - raw.T
    turn = torch.eye(480) + skew  #! turn = torch.linalg.matrix_exp(skew)
    loss = (x @ turn - y).square().mean()
    loss.backward()
    with torch.no_grad():
        raw -= 0.1 * raw.grad
        raw.grad = None
