"""Rows that reduce or accumulate along dims."""
