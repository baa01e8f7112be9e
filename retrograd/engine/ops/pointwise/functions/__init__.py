"""Element-wise functions with torch's overloads."""
