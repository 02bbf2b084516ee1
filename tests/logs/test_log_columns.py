"""Which columns are chosen: by name, by common names, and what is said when none fits."""

import numpy as np
import pytest
from log_samples import simulate, write_csv

from unperturb.errors import InvalidOptionError, MissingColumnError
from unperturb.logs import audit_log
from unperturb.logs.columns import choose_columns
from unperturb.logs.files import open_log


def chosen(tmp_path, names, **options):
    path = tmp_path / "log.csv"
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    found = choose_columns(open_log(path), **options)
    return [
        [str(column) for column in columns]
        for columns in (found.state, found.action, [found.reward], found.next_state)
    ]


@pytest.mark.parametrize(
    ("names", "state", "action", "reward"),
    [
        (["s", "a", "r"], ["s"], ["a"], "r"),
        (["State", "Action", "Reward"], ["State"], ["Action"], "Reward"),
        (["observation", "actions", "rewards"], ["observation"], ["actions"], "rewards"),
        (["obs_1", "obs_0", "obs_10", "act", "rew"], ["obs_0", "obs_1", "obs_10"], ["act"], "rew"),
        (["s0", "s1", "a0", "a1", "reward"], ["s0", "s1"], ["a0", "a1"], "reward"),
        (["state[0]", "state[1]", "reward"], ["state[0]", "state[1]"], [], "reward"),
        (["obs", "state", "r", "reward"], ["state"], [], "reward"),
        (["next_obs", "obs", "reward"], ["obs"], [], "reward"),
    ],
)
def test_common_names_are_guessed(tmp_path, names, state, action, reward):
    assert chosen(tmp_path, names) == [state, action, [reward], []]


def test_names_that_are_given_win(tmp_path):
    names = ["state", "x", "y", "push", "pay", "reward"]
    found = chosen(tmp_path, names, state="x, y", action=["push"], reward="pay")
    assert found == [["x", "y"], ["push"], ["pay"], []]


def test_the_next_state_counts_only_if_asked_for(tmp_path):
    names = ["obs_0", "obs_1", "next_obs_0", "next_obs_1", "reward"]
    assert chosen(tmp_path, names)[3] == []
    assert chosen(tmp_path, names, next_state=True)[3] == ["next_obs_0", "next_obs_1"]
    assert chosen(tmp_path, names, next_state="obs_1,next_obs_1")[3] == ["obs_1", "next_obs_1"]
    with pytest.raises(InvalidOptionError, match="1 columns of the next state and 2 of the state"):
        chosen(tmp_path, names, next_state="next_obs_0")


def test_what_is_missing_is_named_with_what_there_is(tmp_path):
    with pytest.raises(MissingColumnError, match="looks like a reward; the columns are obs, pay"):
        chosen(tmp_path, ["obs", "pay"])
    with pytest.raises(MissingColumnError, match="no column 'z'; the columns are obs, reward"):
        chosen(tmp_path, ["obs", "reward"], state="z")
    with pytest.raises(InvalidOptionError, match="2 columns are named as the reward"):
        chosen(tmp_path, ["obs", "r", "rew"], reward="r,rew")


def test_the_next_state_shares_the_codes_of_the_state(tmp_path):
    """A reward for arriving in a state is no function of (s, a), but of (s, a, s')."""
    rng = np.random.default_rng(0)
    path = rng.integers(0, 6, 6001)
    reward = np.where(rng.random(6000) < 0.2, path[1:] != 5, path[1:] == 5).astype(float)
    columns = {"state": path[:-1], "next_state": path[1:], "reward": reward}
    log = write_csv(tmp_path / "log.csv", columns)
    assert audit_log(log)[0].cells_seen == 6
    audit, suspects = audit_log(log, next_state=True, suspects=5)
    assert audit.cells_seen == 36
    assert audit.mixed_share < 0.1
    np.testing.assert_allclose(audit.confusion, [[0.8, 0.2], [0.2, 0.8]], atol=0.03)
    assert all(reward[s.row] != (path[s.row + 1] == 5) for s in suspects)


def test_what_was_guessed_is_said(tmp_path):
    made = simulate(500)
    said = []
    audit_log(write_csv(tmp_path / "a.csv", made.columns), say=said.append, state="state")
    assert said == [
        "columns: state = state; action = action (guessed); reward = reward (guessed)",
        "cells: state: 20 values, action: 2 values",
        "levels: 0, 1 (guessed)",
    ]
    said.clear()
    alone = {name: made.columns[name] for name in ("state", "reward")}
    audit_log(write_csv(tmp_path / "b.csv", alone), say=said.append, levels="0,1")
    assert said[1] == "no column looks like an action: a cell is a state alone"
    assert said[-1] == "levels: 0, 1"
