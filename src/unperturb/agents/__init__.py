"""Agents in JAX, one file for each algorithm. They know nothing of noise."""
