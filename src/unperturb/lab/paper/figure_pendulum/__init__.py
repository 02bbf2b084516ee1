"""Learning curves on Pendulum: seventeen levels of a continuous reward."""
