"""Building blocks and checks that rows of several families share."""
