"""What the HTML page knows: boxes in boxes, places worked out ahead, columns as JSON or packed binary."""
