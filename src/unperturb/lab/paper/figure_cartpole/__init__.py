"""Learning curves on CartPole with estimated rewards."""
