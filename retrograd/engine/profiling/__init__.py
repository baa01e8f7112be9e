"""What a program spends its time on: operators, nodes of backward and stretches that it names."""
