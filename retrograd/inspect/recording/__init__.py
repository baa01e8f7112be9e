"""What is known of one run: its events, tensors and kept steps, and the files that hold them. No engine is imported."""
