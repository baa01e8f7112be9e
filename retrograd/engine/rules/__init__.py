"""What rows of several families make their rules of, and what they refuse alike."""
