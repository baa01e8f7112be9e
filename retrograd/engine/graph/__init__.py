"""What ``torch.autograd.graph`` offers beyond the nodes themselves."""
