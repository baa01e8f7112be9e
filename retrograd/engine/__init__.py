"""A complete NumPy autograd with PyTorch's semantics; standard library and NumPy only."""
