# kind: unused-parameter; symptom: one of the two encoders never changes; names: created, never used in forward
import torch

torch.manual_seed(0)
encoders = {
    "query": torch.randn(5, 4).requires_grad_(),
    "context": torch.randn(5, 4).requires_grad_(),  #< cause
}
for step in range(3):
    q = torch.randn(6, 5)
    scores = (q @ encoders["query"]) @ (q @ encoders["context"]).t()  #! scores = (q @ encoders["query"]) @ (q @ encoders["query"]).t()
    loss = (torch.logsumexp(scores, 1) - scores.diagonal()).mean()
    loss.backward()
    with torch.no_grad():
        for p in encoders.values():
            if p.grad is not None:
                p -= 0.01 * p.grad
                p.grad = None
