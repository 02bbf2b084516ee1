"""Table 3: which agent runs where."""
