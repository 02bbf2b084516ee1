import numpy as np

import unperturb as up


def test_given_numbers_show_what_draw_would():
    C = up.confusion.rand_all(4, 0.5, np.random.default_rng(0))
    levels = np.random.default_rng(1).integers(4, size=500)
    chance = np.random.default_rng(2).random(500)
    assert np.array_equal(C.shown(levels, chance), C.draw(levels, np.random.default_rng(2)))


def test_each_level_may_have_its_own_step_and_group():
    eye, flip = np.eye(3), np.eye(3)[::-1]
    noise = up.confusion.schedule({0: np.stack([eye, flip]), 10: np.stack([flip, eye])})
    levels, chance = np.array([0, 0, 1, 2]), np.full(4, 0.5)
    shown = noise.shown(levels, chance, np.array([0, 1, 0, 0]), np.array([9, 9, 10, 10]))
    assert shown.tolist() == [0, 2, 1, 0]
    assert noise.shown(levels, chance, np.zeros(4, dtype=int), 3).tolist() == [0, 0, 1, 2]
