"""A copy of one backward graph in columns, and what is computed from it: statistics, alignment, differences."""
