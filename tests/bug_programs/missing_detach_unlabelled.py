# kind: missing-detach; symptom: labels do not help where there are none; names: w
import torch

torch.manual_seed(0)
labelled, unlabelled = torch.randn(16, 8), torch.randn(16, 8)
label = (labelled[:, 0] > 0).long()
w = (torch.randn(8, 4) * 0.4).requires_grad_()
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    supervised = torch.nn.functional.cross_entropy(labelled @ w, label)
    noisy = torch.log_softmax((unlabelled + 0.1) @ w, 1)
    consistency = torch.nn.functional.kl_div(noisy, torch.softmax((unlabelled @ w).detach(), 1), reduction="batchmean")  #! consistency = torch.nn.functional.kl_div(noisy, torch.softmax(unlabelled @ w, 1), reduction="batchmean")
    loss = supervised + consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
