"""Table 1: scores on CartPole and Pendulum with noisy, known and estimated rewards."""
