"""Rows of linear algebra: products, factorizations, solving."""
