"""Time rejax's DQN on CartPole at the paper's settings; runs in an environment of its own.

    python benchmarks/rejax_dqn.py [--seeds 30] [--steps 10000] [--buffer 50000]

Prints one JSON object. Evaluation is left out, and so is compiling.
"""

from __future__ import annotations

import argparse
import json
import time

import jax
import jax.numpy as jnp
from flax import linen as nn
from rejax import DQN
from rejax.networks import DiscreteQNetwork, EpsilonGreedyPolicy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--buffer", type=int, default=50_000)
    options = parser.parse_args()
    agent = EpsilonGreedyPolicy(DiscreteQNetwork)(
        hidden_layer_sizes=(16, 16, 16), action_dim=2, activation=nn.relu
    )
    algorithm = DQN.create(
        env="CartPole-v1",
        num_envs=1,
        buffer_size=options.buffer,
        fill_buffer=10,
        batch_size=32,
        num_epochs=1,
        learning_rate=1e-3,
        gamma=0.99,
        ddqn=True,
        target_update_freq=1,
        polyak=0.99,
        total_timesteps=options.steps,
        eval_freq=options.steps,
        skip_initial_evaluation=True,
    ).replace(agent=agent, eval_callback=lambda algorithm, state, rng: jnp.zeros(()))
    train = jax.jit(jax.vmap(algorithm.train))
    keys = jax.random.split(jax.random.key(0), options.seeds)
    compiled = train.lower(keys).compile()
    start = time.perf_counter()
    jax.block_until_ready(compiled(keys))
    seconds = time.perf_counter() - start
    speed = options.seeds * options.steps / seconds
    print(json.dumps({"steps_per_second": speed, "seconds": seconds}))


if __name__ == "__main__":
    main()
