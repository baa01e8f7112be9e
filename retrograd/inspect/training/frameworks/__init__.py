"""What watches a training that a framework runs, a file for each: none is loaded unless a program imports it.

::

    from retrograd.inspect.training.frameworks.lightning_ import Watch

    trainer = lightning.Trainer(callbacks=[Watch(file="run.html", replay=True)])
"""
