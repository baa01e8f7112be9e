"""The data of the HTML page: nested boxes, precomputed positions, columns as JSON or packed binary."""
