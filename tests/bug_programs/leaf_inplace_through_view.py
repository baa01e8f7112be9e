# kind: leaf-inplace; symptom: an error about a view of a leaf; names: rows, logits, rows = rows + evidence
import torch

torch.manual_seed(0)
logits = torch.randn(4, requires_grad=True)
evidence = torch.randn(5, 4)
rows = logits.expand(5, -1)
rows = rows + evidence  #! rows += evidence
loss = -(rows - rows.logsumexp(1, keepdim=True))[:, 0].mean()
loss.backward()
