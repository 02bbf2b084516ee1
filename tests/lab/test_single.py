import numpy as np
import pytest

from unperturb.errors import InvalidOptionError
from unperturb.lab.records import Records
from unperturb.lab.single import run, units_of
from unperturb.levels import RewardLevels


def test_levels_and_bins_are_chosen_where_nobody_gave_them():
    lake = units_of("FrozenLake-v1", "q-learning", seeds=1, reward="noisy")[0]
    assert lake["levels"] == {"values": [0.0, 1.0]}
    assert lake["noise"] == "binary"
    car = units_of("MountainCar-v0", "dqn", seeds=1, bins=5)[0]
    assert car["levels"] == {"values": [-1.0, 1.0]}
    assert car["cells"]["state"]["bins"] == [5, 5]


def test_what_is_given_goes_before_what_the_paper_settles():
    settings = units_of(
        "CartPole-v0",
        "dqn",
        1,
        reward="noisy",
        levels=RewardLevels([-2.0, 0.0, 1.0]),
        noise="symmetric",
    )[0]
    assert len(settings["levels"]["values"]) == 3
    assert settings["noise"] == "symmetric"


@pytest.mark.parametrize(
    ("env", "agent", "message"),
    [
        ("CartPole-v0", "nobody", "the agents are q-learning"),
        ("NoSuchEnv-v0", "dqn", "environment 'NoSuchEnv-v0' can't be made"),
    ],
)
def test_mistakes_are_named(env, agent, message):
    with pytest.raises(InvalidOptionError, match=message):
        units_of(env, agent, seeds=1)


def test_the_second_call_trains_nothing(tmp_path):
    units = units_of("CartPole-v0", "q-learning", seeds=2, steps=1500, reward="posterior")
    first = run(units, Records(tmp_path), jobs=1)
    again = run(units, Records(tmp_path), jobs=1)
    assert first["trained"] == 2
    assert again["trained"] == 0
    assert again["steps_per_second"] is None
    assert first["scores"] == again["scores"]
    assert len(first["scores"]) == 2
    np.testing.assert_allclose(np.sum(first["confusion"], axis=1), 1)
    assert "seed" not in first["settings"]
