"""Products, factorizations and norms of matrices."""
