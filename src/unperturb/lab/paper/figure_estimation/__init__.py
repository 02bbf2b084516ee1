"""How the estimate of C converges on CartPole."""
