"""The six-state MDP (the paper, "Perturbed-Reward MDP Example").

Six states on a ring. Action 0 moves back, action 1 forward, and arriving in state 5 pays 1. Nothing
else pays and nothing ends. Moves are certain (Algorithm 3: T: S x A -> S), so the reward is a
function of (s, a), as the estimation of C needs it: 2 of the 12 pairs pay.

`move` and `reward` work on Python, NumPy and JAX numbers alike; the Gymnasium environment and the
compiled one are made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

from unperturb.errors import InvalidOptionError, OutsideSpaceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

STATES = 6
ACTIONS = 2
PAYING = 5
LEVELS = (0.0, 1.0)
EPISODE = 100
"""Steps after which an episode is cut off, so that a run starts in state 0 now and then."""


def move(state: Any, action: Any) -> Any:
    """Give the next state: T(s, a) = s - 1 or s + 1 on the ring.

    Example:
        >>> move(0, 0), move(4, 1)
        (5, 5)
    """
    return (state + 2 * action - 1) % STATES


def level(next_state: Any) -> Any:
    """Give the index of the true reward level: 1 on arrival in the paying state, 0 elsewhere."""
    return 1 * (next_state == PAYING)


def transitions(slip: float = 0.0) -> NDArray[np.float64]:
    """Give P (states, actions, next states).

    With probability `slip` a move goes the other way, so that there is something in P to learn.

    Example:
        >>> transitions(slip=0.1)[4, 1]
        array([0. , 0. , 0. , 0.1, 0. , 0.9])
    """
    if not 0 <= slip <= 1:
        raise InvalidOptionError(
            f"slip is {slip}", "it is a probability in [0, 1]", "pass 0.1 for 10 %"
        )
    P = np.zeros((STATES, ACTIONS, STATES))
    for state in range(STATES):
        for action in range(ACTIONS):
            P[state, action, move(state, action)] += 1 - slip
            P[state, action, move(state, 1 - action)] += slip
    return P


def optimal_q(gamma: float, P: Any = None, rewards: Any = None) -> NDArray[np.float64]:
    """Give Q* (states, actions) by value iteration, to the last digits of float64.

    `rewards` (by default 1 for the paying state) belong to the next state, or to each
    (state, action, next state).

    Example:
        >>> optimal_q(0.9).max(axis=1).round(3)
        array([5.263, 4.737, 4.263, 4.737, 5.263, 4.737])
    """
    if not 0 <= gamma < 1:
        raise InvalidOptionError(
            f"gamma is {gamma}", "value iteration needs a discount in [0, 1)", "pass 0.9"
        )
    P = transitions() if P is None else np.asarray(P, dtype=np.float64)
    pays = np.eye(STATES)[PAYING] if rewards is None else np.asarray(rewards, dtype=np.float64)
    expected: NDArray[np.float64] = (P * pays).sum(axis=-1)
    q = np.zeros_like(expected)
    while True:
        following: NDArray[np.float64] = expected + gamma * P @ q.max(axis=-1)
        if np.abs(following - q).max() <= 1e-14 * max(1.0, np.abs(following).max()):
            return following
        q = following


class SixStateEnv(gym.Env[int, int]):
    """The six-state MDP as a Gymnasium environment; `unperturb/SixState-v0` cuts it at 100 steps.

    Example:
        >>> import gymnasium as gym
        >>> import unperturb.lab.envs
        >>> env = gym.make("unperturb/SixState-v0")
        >>> env.reset(seed=0)
        (0, {})
        >>> env.step(0)
        (5, 1.0, False, False, {})
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(STATES)
        self.action_space = gym.spaces.Discrete(ACTIONS)
        self._state = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start in state 0."""
        super().reset(seed=seed)
        self._state = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move one state back (0) or forward (1)."""
        if not self.action_space.contains(action):
            raise OutsideSpaceError(
                f"action {action!r}", "the actions are 0 (back) and 1 (forward)", "pass 0 or 1"
            )
        self._state = move(self._state, int(action))
        return self._state, LEVELS[level(self._state)], False, False, {}


class State(NamedTuple):
    """Where the compiled environment is, and for how long this episode has lasted."""

    state: Any
    time: Any


def reset(key: Any) -> tuple[Any, State]:
    """Start in state 0 (JAX; the form of gymnax). The key is not needed."""
    import jax.numpy as jnp

    zero = jnp.zeros((), dtype=jnp.int32)
    return zero, State(zero, zero)


def step(
    key: Any, state: State, action: Any, episode: int = EPISODE
) -> tuple[Any, State, Any, Any, Any, dict[str, Any]]:
    """Move on, and start anew when the episode is cut off (JAX; the form of gymnax).

    Gives observation, state, reward, terminated, truncated and info; what was seen before starting
    anew is `info["final_observation"]`.

    Example:
        >>> import jax
        >>> observation, state = reset(jax.random.key(0))
        >>> observation, state, reward, *_ = step(jax.random.key(1), state, 0)
        >>> int(observation), float(reward)
        (5, 1.0)
    """
    import jax.numpy as jnp

    arrived = move(state.state, jnp.asarray(action, dtype=jnp.int32))
    reward = jnp.asarray(LEVELS)[level(arrived)]
    truncated = state.time + 1 >= episode
    following = State(jnp.where(truncated, 0, arrived), jnp.where(truncated, 0, state.time + 1))
    terminated = jnp.zeros((), dtype=bool)
    info = {"final_observation": arrived}
    return following.state, following, reward, terminated, truncated, info


def draw(axes: Any) -> None:
    """Draw the graph: a ring of states, an arrow for each action, the paying state filled."""
    from matplotlib.patches import Circle, FancyArrowPatch

    angles = np.pi / 2 - np.arange(STATES) * 2 * np.pi / STATES
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    back, forward, pays = "#777777", "#1f5fbf", "#2ca02c"
    circles = []
    for state, place in enumerate(places):
        edge, inside, text = (pays, pays, "white") if state == PAYING else ("#333", "white", "#333")
        circle = Circle(place, 0.2, facecolor=inside, edgecolor=edge, linewidth=1.6, zorder=3)
        circles.append(axes.add_patch(circle))
        axes.text(*place, str(state), ha="center", va="center", size=14, color=text, zorder=4)
    for state in range(STATES):
        for action, colour in ((0, back), (1, forward)):
            target = move(state, action)
            axes.add_patch(
                FancyArrowPatch(
                    places[state],
                    places[target],
                    connectionstyle="arc3,rad=-0.32",
                    arrowstyle="-|>",
                    mutation_scale=14,
                    linewidth=2.4 if target == PAYING else 1.3,
                    color=pays if target == PAYING else colour,
                    patchA=circles[state],
                    patchB=circles[target],
                    shrinkA=1,
                    shrinkB=2,
                )
            )
    for height, colour, text in (
        (0.26, forward, "action 1: forward"),
        (0.08, back, "action 0: back"),
        (-0.14, pays, "into 5: $r_+ = 1$"),
        (-0.32, "#333333", "else: $r_- = 0$"),
    ):
        axes.text(0, height, text, ha="center", color=colour, size=9)
    axes.text(places[0][0], places[0][1] + 0.27, "start", ha="center", size=9, color="#333333")
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.3, 1.45)
    axes.set_aspect("equal")
    axes.axis("off")
