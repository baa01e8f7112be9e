# kind: frozen-parameter; symptom: the second step of the critic fails; names: critic, requires_grad
import torch

torch.manual_seed(0)
critic = torch.randn(4, 1, requires_grad=True)
actor = torch.randn(3, 4, requires_grad=True)
for step in range(2):
    seen = torch.randn(5, 3)
    loss = ((seen @ actor).detach() @ critic).pow(2).mean()
    loss.backward()
    critic.grad = None
    critic.requires_grad_(False)  #< cause
    gain = -((seen @ actor) @ critic).mean()
    gain.backward()
    actor.grad = None
    critic.requires_grad_(True)  #! pass
