"""Saving and loading: a corrector goes on bit for bit, or an error leaves it as it was."""

import json

import numpy as np
import pytest
from correctors import CELLS, every, feed, make

from count_tables import same_state
from unperturb import Cells, RewardCorrector, RewardLevels
from unperturb.errors import DamagedFileError, StateMismatchError


@every
@pytest.mark.parametrize("seen", [10, 70, 200])
def test_a_saved_corrector_goes_on_bit_for_bit(kind, seen, tmp_path):
    first = make(kind)
    feed(first, seen)
    path = first.save(tmp_path / "corrector.npz")
    loaded = RewardCorrector.load(path)
    other = make(kind)
    feed(other, 120, seed=9)  # what it had learned is replaced
    other.load_state_dict(first.state_dict())
    expected = feed(first, 150, seed=1)
    for again in (loaded, other):
        np.testing.assert_array_equal(feed(again, 150, seed=1), expected)
        same_state(first.state_dict(), again.state_dict())
        np.testing.assert_array_equal(again.confusion, first.confusion)
        assert repr(again) == repr(first)


@every
def test_config_survives_json(kind):
    corrector = make(kind)
    again = RewardCorrector.from_config(json.loads(json.dumps(corrector.config())))
    assert again.config() == corrector.config()
    np.testing.assert_array_equal(feed(again, 90), feed(corrector, 90))


@pytest.mark.parametrize("levels", [RewardLevels.uniform(-1, 1, 5), RewardLevels.uniform(0, 1, 3)])
def test_continuous_rewards_and_numpy_settings_survive_json(levels):
    corrector = RewardCorrector(
        levels,
        Cells.grid(0.0, 1.0, 4, actions=None),
        refresh=np.int64(10),
        smooth=np.int32(3),
        eta=np.float32(0.5),
        n_eff=np.int64(50),
        d_min=np.int64(20),
    )
    again = RewardCorrector.from_config(json.loads(json.dumps(corrector.config())))
    assert again.config() == corrector.config()
    assert corrector.state_dict().keys() == again.state_dict().keys()


def test_a_state_of_other_settings_is_named_and_leaves_no_trace():
    corrector = make("posterior")
    feed(corrector, 100)
    before = {name: np.copy(value) for name, value in corrector.state_dict().items()}
    other = RewardCorrector(RewardLevels([0.0, 2.0]), CELLS, d_min=30, refresh=21)
    cases = [
        (other.state_dict(), r"saved with another levels, method, refresh; a state is loaded"),
        ({}, "the state has no config, counters, table; it is what state_dict"),
        ({**before, "config": np.array("{")}, "the settings in the state can't be read"),
        ({**before, "config": np.array("[1]")}, "the settings in the state can't be read"),
        ({**before, "counters": np.zeros(3)}, r"'counters' has shape \(3,\); here it is \(6,\)"),
        ({**before, "table": np.zeros(7)}, r"'table' has shape \(7,\); here it is \(2,\)"),
        ({**before, "table": np.zeros(())}, r"'table' has shape \(\); here"),
        ({**before, "values": np.zeros(2)}, r"'values' has shape \(2,\); here it is \(20,\)"),
        ({k: v for k, v in before.items() if k != "counts/table"}, "the state holds"),
        ({k: v for k, v in before.items() if k != "estimator/rows"}, "the state has no 'rows'"),
        ({**before, "cells/rows": np.zeros(1)}, r"the state holds \['rows'\]"),
    ]
    for state, message in cases:
        with pytest.raises(StateMismatchError, match=message):
            corrector.load_state_dict(state)
        same_state(corrector.state_dict(), before)


def test_loading_is_all_or_nothing():
    donor, corrector = make("default"), make("default")
    feed(donor, 200, seed=3)
    feed(corrector, 100)
    before = {name: np.copy(value) for name, value in corrector.state_dict().items()}
    state = donor.state_dict()
    del state["estimator/rows"]  # found out only after the counts were taken over
    with pytest.raises(StateMismatchError, match="no 'rows'"):
        corrector.load_state_dict(state)
    same_state(corrector.state_dict(), before)


def test_damaged_files_are_named(tmp_path):
    corrector = make("posterior")
    feed(corrector, 100)
    path = corrector.save(tmp_path / "corrector.npz")
    whole = path.read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=r"corrector\.npz can't be read"):
            RewardCorrector.load(path)
    state = corrector.state_dict()
    for name, value in (
        ("config", np.array("{")),
        ("config", np.array('{"levels": 3}')),
        ("table", np.zeros(3)),
        ("counters", np.zeros(2)),
        ("counts/table", np.zeros(3)),
    ):
        np.savez(path, **{**state, name: value})
        with pytest.raises(DamagedFileError, match=r"corrector\.npz holds no corrector \(.*; it"):
            RewardCorrector.load(path)
    np.savez(path, x=np.zeros(2))
    with pytest.raises(DamagedFileError, match="holds no config, counters, table"):
        RewardCorrector.load(path)
    with pytest.raises(FileNotFoundError):
        RewardCorrector.load(tmp_path / "nothing.npz")


def test_memory_does_not_grow():
    corrector = make("posterior", smooth=5)
    feed(corrector, 500)
    sizes = {name: value.nbytes for name, value in corrector.state_dict().items()}
    feed(corrector, 5000, batch=500)
    assert {name: value.nbytes for name, value in corrector.state_dict().items()} == sizes
