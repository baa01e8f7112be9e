# kind: overlapping-inplace; symptom: one cell is marked, a whole line is; names: rows, meshgrid, clone
import torch

torch.manual_seed(9)
rows, columns = torch.meshgrid(torch.arange(3.0), torch.arange(4.0), indexing="ij")  #< cause
rows = rows.clone()  #! rows = rows.view(3, 4)
rows[1, 2] = 10.0
scale = torch.ones(4, requires_grad=True)
loss = ((rows + columns) * scale).sum()
loss.backward()
print("loss", float(loss.detach()))
