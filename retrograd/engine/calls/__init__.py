"""What happens when an operator is called, and what is generated from a row for its commonest calls."""
