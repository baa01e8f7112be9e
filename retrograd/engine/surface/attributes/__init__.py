"""What a tensor tells about itself: metadata, memory, predicates."""
