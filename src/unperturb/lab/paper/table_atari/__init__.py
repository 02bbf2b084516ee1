"""Table 2: scores of PPO on Atari games, or on their small cousins, and the lift over noisy."""
