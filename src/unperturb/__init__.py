"""unperturb: reinforcement learning from rewards you can't trust."""
