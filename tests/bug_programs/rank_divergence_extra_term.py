# kind: rank-divergence; symptom: in a job of two ranks the all-reduce waits for ever; names: aux
import torch


def forward_rank(rank):
    torch.manual_seed(0)
    body = torch.randn(4, 4, requires_grad=True)
    aux = torch.randn(4, 2, requires_grad=True)
    h = torch.tanh((torch.randn(3, 4) + rank) @ body)
    loss = h.mean()
    weight = 1.0 if rank == 0 else 0.0
    if True:  #! if rank == 0:
        loss = loss + weight * (h @ aux).square().mean()  #< cause
    loss.backward()
    return aux.grad


for rank in range(2):
    print(rank, forward_rank(rank))
