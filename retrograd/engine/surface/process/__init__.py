"""What is no function of tensors: settings of the process, saving and loading."""
