"""Learning curves on CartPole with variance reduction."""
