"""Forward mode: tangents, and how operators propagate them."""
