"""What a program seems to mean: what it trains, by what, and what it holds to data."""
