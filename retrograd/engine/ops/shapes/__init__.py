"""Rows that change shapes: views, joining, rearranging."""
