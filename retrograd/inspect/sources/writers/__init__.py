"""What events say, written once for both engines: an adapter hears of things and numbers tensors, and calls these."""
