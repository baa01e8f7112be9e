"""``__torch_function__`` and ``__torch_dispatch__``: subclasses and modes that override functions and operators."""
