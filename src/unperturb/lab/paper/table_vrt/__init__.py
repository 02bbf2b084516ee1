"""Table 4: scores on CartPole with variance reduction."""
