"""Callbacks that watch a training run by a framework, a file for each; loaded only if the program imports it.

::

    from retrograd.inspect.training.frameworks.lightning_ import Watch

    trainer = lightning.Trainer(callbacks=[Watch(file="run.html", replay=True)])
"""
