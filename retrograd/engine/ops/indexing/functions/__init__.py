"""Reading, writing, sorting and searching by index."""
