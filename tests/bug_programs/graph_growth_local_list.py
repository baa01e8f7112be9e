# kind: graph-growth; symptom: memory grows while main runs; names: out, detach
import torch


def main():
    torch.manual_seed(0)
    w = torch.randn(4, 2, requires_grad=True)
    outputs = []
    for step in range(8):
        out = torch.tanh(torch.randn(6, 4) @ w)
        out.square().mean().backward()
        w.grad = None
        outputs.append(out.detach())  #! outputs.append(out)
    print("mean", float(torch.stack(outputs).detach().mean()))


main()
