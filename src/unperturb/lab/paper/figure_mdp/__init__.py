"""The six-state MDP, and C estimated while the noise changes (the paper, "MDP Example")."""
