"""Forward mode: tangents, and how operators push them on."""
