"""Surrogates: unbiased for every invertible C, bounded as the paper says, the same on JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unperturb import confusion
from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
    InvalidPriorError,
    SingularConfusionError,
)
from unperturb.levels import RewardLevels
from unperturb.surrogate import affine_slope, surrogate_bounds, surrogate_values


@st.composite
def problems(draw, most=17, worst=1e3, groups=False):
    """A random invertible C (or one per group) and the values of its levels."""
    M = draw(st.integers(2, most))
    weight = draw(st.floats(0.0, 0.9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (draw(st.integers(1, 4)), M, M) if groups else (M, M)
    noise = rng.random(shape)
    C = (1 - weight) * np.eye(M) + weight * noise / noise.sum(axis=-1, keepdims=True)
    if np.max(np.linalg.cond(C)) > worst:
        C = 0.5 * C + 0.5 * np.eye(M)
    values = draw(arrays(np.float64, M, elements=st.floats(-100, 100), unique=True))
    return C, np.sort(values)


@given(problems(), problems(groups=True))
def test_lemma_2_the_surrogate_is_unbiased(problem, grouped):
    for C, R in (problem, grouped):
        hat = surrogate_values(C, R)
        assert hat.shape == C.shape[:-1]
        mean = (C @ hat[..., None])[..., 0]  # E[hat r | r]
        np.testing.assert_allclose(mean, np.broadcast_to(R, hat.shape), atol=1e-9 * 100)


def test_lemma_1_in_closed_form():
    e_minus, e_plus, low, high = 0.2, 0.3, -1.0, 2.0
    hat = surrogate_values(confusion.binary(e_minus, e_plus), RewardLevels([low, high]))
    scale = 1 - e_minus - e_plus
    np.testing.assert_allclose(hat[0], ((1 - e_plus) * low - e_minus * high) / scale)
    np.testing.assert_allclose(hat[1], ((1 - e_minus) * high - e_plus * low) / scale)


@given(problems(groups=True), st.floats(0, 1))
def test_eta_weighs_the_unbiased_part(problem, eta):
    C, R = problem
    mixed = surrogate_values(C, R, eta=eta)
    np.testing.assert_allclose(mixed, (1 - eta) * R + eta * surrogate_values(C, R), atol=1e-9)


@given(problems(most=6), st.floats(1, 1e4), st.integers(0, 99))
def test_the_regularised_inverse_is_the_best_trade_of_bias_and_variance(problem, n_eff, seed):
    C, R = problem
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(len(R)))
    w = np.sqrt(prior) / np.sqrt(prior).sum()

    def cost(hat):
        mean = C @ hat
        variance = C @ hat**2 - mean**2
        return w @ ((mean - R) ** 2 + variance / n_eff)

    best = surrogate_values(C, R, n_eff=n_eff, level_prior=prior)
    scale = np.abs(R).max() + 1e-9
    for _ in range(5):
        other = best + rng.normal(size=len(R)) * scale * 0.1
        assert cost(best) <= cost(other) + 1e-6 * scale**2
    assert cost(best) <= cost(surrogate_values(C, R)) + 1e-6 * scale**2


@given(problems(most=5, worst=20))
def test_much_averaging_needs_no_regularising(problem):
    C, R = problem
    far = surrogate_values(C, R, n_eff=1e9)
    np.testing.assert_allclose(far, surrogate_values(C, R), atol=1e-3)


@given(problems(groups=True))
def test_groups_are_solved_one_by_one(problem):
    C, R = problem
    prior = np.arange(1.0, len(R) + 1)
    for options in ({}, {"n_eff": 50.0}, {"n_eff": 50.0, "level_prior": prior, "eta": 0.5}):
        together = surrogate_values(C, R, **options)
        for one, row in zip(C, together, strict=True):
            np.testing.assert_allclose(row, surrogate_values(one, R, **options), atol=1e-7)


def test_a_singular_matrix_can_be_regularised_but_not_inverted():
    C = np.full((2, 2), 0.5)
    hat = surrogate_values(C, [0.0, 1.0], n_eff=100)
    assert np.abs(hat).max() <= 1.0 + 1e-6
    with pytest.raises(SingularConfusionError, match=r"singular .* pass n_eff=100"):
        surrogate_values(C, [0.0, 1.0])
    # A level that is never shown keeps its own reward.
    hidden = surrogate_values([[1.0, 0.0], [1.0, 0.0]], [0.0, 1.0], n_eff=100)
    assert hidden[1] == pytest.approx(1.0)


def test_a_singular_matrix_is_noticed_in_float32():
    # Row 1 is twice the mean of the others, up to float32's rounding.
    C = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.2, 0.25, 0.55]]
    with pytest.raises(SingularConfusionError, match="singular"):
        surrogate_values(jnp.asarray(C, dtype=jnp.float32), [0.0, 1.0, 2.0])


@given(problems(groups=True))
def test_lemma_4_and_theorem_3_hold(problem):
    C, R = problem
    bounds = surrogate_bounds(C, R)
    hat = surrogate_values(C, R)
    slack = 1 + 1e-9
    assert (np.abs(hat) <= bounds.value_bound[:, None] * slack).all()
    rng = np.random.default_rng(0)
    for one, own, most in zip(C, hat, bounds.variance_bound, strict=True):
        p = rng.dirichlet(np.ones(len(R)))
        true = p @ R**2 - (p @ R) ** 2
        surrogate = p @ (one @ own**2) - (p @ R) ** 2
        tiny = 1e-7 * (1 + surrogate)
        assert true - tiny <= surrogate <= most * slack + tiny
    exact = np.stack([c @ h**2 - R**2 for c, h in zip(C, hat, strict=True)])
    np.testing.assert_allclose(bounds.variance, exact, atol=1e-6)
    np.testing.assert_allclose(bounds.det, np.linalg.det(C))
    np.testing.assert_allclose(bounds.condition, np.linalg.cond(C), rtol=1e-6)
    assert bounds.sample_cost == pytest.approx(1 / np.abs(np.linalg.det(C)).min() ** 2)


def test_the_variance_is_what_is_measured():
    C, R = confusion.binary(0.1, 0.3), np.array([0.0, 1.0])
    rng = np.random.default_rng(0)
    hat = surrogate_values(C, R)
    bounds = surrogate_bounds(C, R)
    for level in (0, 1):
        drawn = hat[C.draw(np.full(200_000, level), rng)]
        # 5 standard errors of a mean and of a variance: false-alarm rate below 1e-5.
        assert abs(drawn.mean() - R[level]) < 5 * drawn.std() / 200_000**0.5
        assert drawn.var() == pytest.approx(bounds.variance[level], rel=0.03)


def test_bounds_of_a_singular_matrix_are_a_named_error():
    with pytest.raises(SingularConfusionError, match="the confusion matrix is singular"):
        surrogate_bounds(np.full((2, 2), 0.5), [0.0, 1.0])


@given(st.floats(0, 0.45), st.floats(0, 0.45), st.floats(-5, 5), st.floats(0.1, 5))
def test_every_binary_matrix_is_affine(e_minus, e_plus, low, width):
    C, R = confusion.binary(e_minus, e_plus), np.array([low, low + width])
    slope, shift = affine_slope(C, R)
    np.testing.assert_allclose(surrogate_values(C, R), (R - shift) / slope, atol=1e-6)


def test_which_matrices_are_affine():
    R = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert affine_slope(confusion.symmetric(5, 0.3), R) == (0.4, 0.0)
    uniform = 0.7 * np.eye(5) + 0.3 * np.full((5, 5), 0.2)
    assert affine_slope(uniform, R) == (0.7, 0.0)
    assert affine_slope(confusion.symmetric(3, 0.3), [0.0, 1.0, 5.0]) is None
    assert affine_slope(confusion.rand_all(3, 0.3, np.random.default_rng(0)), R[:3]) is None
    with pytest.raises(InvalidConfusionError, match="there are 3 confusion matrices"):
        affine_slope(np.stack([np.eye(3)] * 3), [0.0, 1.0, 2.0])


@pytest.mark.parametrize("n_eff", [None, 100.0])
@pytest.mark.parametrize("shape", [(2, 2), (5, 5), (3, 4, 4)])
def test_jax_agrees_inside_jit(shape, n_eff):
    jitted = jax.jit(lambda C, R: surrogate_values(C, R, eta=0.7, n_eff=n_eff))
    R = np.linspace(-1, 2, shape[-1])
    for seed in range(10):
        noise = np.random.default_rng(seed).random(shape)
        C = 0.6 * np.eye(shape[-1]) + 0.4 * noise / noise.sum(axis=-1, keepdims=True)
        expected = surrogate_values(C, R, eta=0.7, n_eff=n_eff)
        single = jitted(jnp.asarray(C, jnp.float32), jnp.asarray(R, jnp.float32))
        np.testing.assert_allclose(single, expected, atol=1e-5)
        with jax.enable_x64(True):
            double = jitted(jnp.asarray(C), jnp.asarray(R))
            np.testing.assert_allclose(double, expected, atol=1e-10)


@settings(max_examples=25)
@given(problems(most=8, groups=True))
def test_torch_agrees(problem):
    torch = pytest.importorskip("torch")
    C, R = problem
    for options in ({}, {"n_eff": 100.0, "eta": 0.5}):
        found = surrogate_values(torch.tensor(C), torch.tensor(R), **options)
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), surrogate_values(C, R, **options), atol=1e-8)
    bounds = surrogate_bounds(torch.tensor(C), torch.tensor(R))
    np.testing.assert_allclose(bounds.variance.numpy(), surrogate_bounds(C, R).variance, atol=1e-6)


def test_bounds_work_inside_jit():
    C, R = confusion.binary(0.1, 0.3), np.array([0.0, 1.0])
    found = jax.jit(surrogate_bounds)(jnp.asarray(C.matrix), jnp.asarray(R))
    for mine, theirs in zip(found, surrogate_bounds(C, R), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_inputs_are_not_changed():
    C, R = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.0, 1.0])
    prior = np.array([0.3, 0.7])
    C.setflags(write=False), R.setflags(write=False), prior.setflags(write=False)
    surrogate_values(C, R, 0.5, 100.0, prior)
    surrogate_bounds(C, R)
    affine_slope(C, R)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"eta": 1.1}, InvalidOptionError, r"eta is 1\.1; it weighs the unbiased part"),
        ({"eta": float("nan")}, InvalidOptionError, "eta is nan"),
        ({"n_eff": 0.5}, InvalidOptionError, r"n_eff is 0\.5; a learner averages at least one"),
        ({"n_eff": float("nan")}, InvalidOptionError, "n_eff is nan"),
        ({"n_eff": 9, "level_prior": [-1, 2]}, InvalidPriorError, r"level_prior is \[-1\.0, 2\.0"),
        ({"n_eff": 9, "level_prior": [0, 0]}, InvalidPriorError, "none of them negative"),
        ({"n_eff": 9, "level_prior": [1, 1, 1]}, InvalidPriorError, "of the 2 true levels"),
    ],
)
def test_bad_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        surrogate_values([[0.9, 0.1], [0.3, 0.7]], [0.0, 1.0], **options)


@pytest.mark.parametrize("C", [np.eye(3), np.ones((2, 3)) / 3, np.array([0.5, 0.5])])
def test_shapes_must_fit(C):
    with pytest.raises(InvalidConfusionError, match=r"has shape \(.*\) for 2 levels; it has one"):
        surrogate_values(C, [0.0, 1.0])
