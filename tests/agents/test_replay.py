import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.agents import Observation, Transition, replay


def transition(t, action=None):
    """Build a transition that bears the number of its step everywhere."""
    seen, after = jnp.full(3, 1.0 * t), jnp.full(3, t + 0.5)
    action = t % 7 if action is None else action
    return Transition(
        Observation(seen, 0), action, -1.0 * t, Observation(after, 0), t % 2 == 0, True
    )


def filled(steps, capacity=10):
    buffer = replay.empty(capacity, features=3)
    store = jax.jit(replay.store, donate_argnums=0)
    for t in range(steps):
        buffer = store(buffer, transition(t), t)
    return buffer


@pytest.mark.parametrize("steps", [1, 4, 10, 13, 27])
def test_the_ring_holds_the_last_transitions(steps):
    buffer = np.asarray(filled(steps))
    kept = {int(t) % 10: t for t in range(max(0, steps - 10), steps)}
    for place, t in kept.items():
        expected = [t] * 3 + [t + 0.5] * 3 + [t % 7, -t, t % 2 == 0]
        np.testing.assert_array_equal(buffer[place], expected)
    np.testing.assert_array_equal(buffer[steps:], 0)


@pytest.mark.parametrize("steps", [1, 4, 10, 13])
def test_only_what_was_stored_is_drawn_and_all_of_it(steps):
    batch = replay.sample(filled(steps), jax.random.key(steps), steps - 1, 2000)
    drawn, counts = np.unique(np.asarray(batch.observation[0]), return_counts=True)
    kept = np.arange(max(0, steps - 10), steps)
    np.testing.assert_array_equal(drawn, kept)
    # Binomial shares; five standard deviations, 10 shares: false alarm below 1e-5.
    p = 1 / len(kept)
    assert (np.abs(counts / 2000 - p) <= 5 * (p * (1 - p) / 2000) ** 0.5).all()


def test_a_batch_keeps_what_belongs_together():
    batch = replay.sample(filled(13), jax.random.key(0), 12, 50)
    t = np.asarray(batch.observation[0])
    assert batch.observation.shape == (3, 50)
    assert batch.action.dtype == jnp.int32
    np.testing.assert_array_equal(batch.action, t % 7)
    np.testing.assert_array_equal(batch.reward, -t)
    np.testing.assert_array_equal(batch.next_observation, np.tile(t + 0.5, (3, 1)))
    np.testing.assert_array_equal(batch.terminated, t % 2 == 0)


def test_actions_of_several_numbers():
    buffer = replay.empty(4, features=3, actions=2)
    for t in range(4):
        buffer = replay.store(buffer, transition(t, action=jnp.array([0.1 * t, -0.1 * t])), t)
    bits = jax.random.bits(jax.random.key(0), (20,))
    batch = replay.sample_continuous(buffer, bits, 3, features=3)
    t = np.asarray(batch.reward) * -1
    np.testing.assert_allclose(batch.action, [0.1 * t, -0.1 * t], rtol=1e-6)
    np.testing.assert_array_equal(batch.next_observation[0], t + 0.5)


def test_lanes_that_share_the_step_write_in_place():
    # A copy of the buffer in the loop would cost the memory a second time.
    buffers = jnp.zeros((5, 10_000, 9))
    many = jax.vmap(replay.store, in_axes=(0, None, None))

    def loop(buffers):
        return jax.lax.fori_loop(0, 100, lambda t, all: many(all, transition(t), t), buffers)

    compiled = jax.jit(loop, donate_argnums=0).lower(buffers).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < buffers.nbytes / 10
