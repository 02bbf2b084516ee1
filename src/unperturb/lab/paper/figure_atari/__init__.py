"""Learning curves of PPO: on Pong, and on all games."""
