"""What a tensor is: its array and record, its type, and the ways in and out."""
