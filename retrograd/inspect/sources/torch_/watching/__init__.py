"""What is put in place while somebody watches, and put back."""
