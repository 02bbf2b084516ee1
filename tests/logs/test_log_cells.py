"""How values become cells, and rewards levels."""

import numpy as np
import pytest
from log_samples import simulate

import unperturb as up
from unperturb import errors
from unperturb.logs import audit_log, coding, rewards, survey


def save(tmp_path, **columns):
    np.savez(tmp_path / "log.npz", **columns)
    return tmp_path / "log.npz"


def cells(path, **options):
    said = []
    audit, _ = audit_log(path, say=said.append, **options)
    return audit.cells_seen, said[-2]


def test_whole_numbers_are_kept_and_others_binned(tmp_path):
    made = simulate(2000).columns
    whole = save(tmp_path, **{**made, "state": made["state"].astype(np.float32)})
    assert cells(whole) == (40, "cells: state: 20 values, action: 2 values")
    broken = save(tmp_path, **{**made, "state": made["state"] + 0.5})
    assert cells(broken)[1] == "cells: state: 10 bins from 0.5 to 19.5, action: 2 values"
    assert cells(broken, bins=4) == (8, "cells: state: 4 bins from 0.5 to 19.5, action: 2 values")


def test_bins_by_name_cut_integers_too(tmp_path):
    path = save(tmp_path, **simulate(2000).columns)
    assert cells(path, bins={"state": 5}) == (
        10,
        "cells: state: 5 bins from 0 to 19, action: 2 values",
    )
    assert cells(path, bins=3)[0] == 40
    with pytest.raises(errors.InvalidOptionError, match="--bins names 'x'"):
        cells(path, bins={"x": 5})


def test_the_bins_are_those_of_cells_grid(tmp_path):
    rng = np.random.default_rng(0)
    obs, action = rng.normal(size=(3000, 2)), rng.uniform(-2, 2, 3000)
    path = save(tmp_path, obs=obs, action=action, reward=rng.integers(0, 2, 3000))
    seen, text = cells(path, bins=6)
    grid = up.Cells.grid(
        obs.min(axis=0), obs.max(axis=0), 6, actions=(action.min(), action.max(), 6)
    )
    assert seen == len(np.unique(grid.index(obs, action)))
    assert text.startswith("cells: obs[0]: 6 bins")


def test_many_columns_get_fewer_bins(tmp_path):
    obs = np.random.default_rng(0).normal(size=(500, 8))
    path = save(tmp_path, obs=obs, reward=np.arange(500) % 2)
    assert "obs[0]: 4 bins" in cells(path)[1]


def test_a_constant_column_is_one_cell(tmp_path):
    path = save(tmp_path, obs=np.full(100, 0.25), reward=np.arange(100) % 2)
    assert cells(path)[0] == 1


def test_cells_far_apart_need_no_memory(tmp_path):
    """10^12 cells are possible, and 300 occur."""
    rng = np.random.default_rng(0)
    rooms = rng.integers(0, 10**5, (300, 3)) * 7
    obs = rooms[rng.integers(0, 300, 3000)]
    assert cells(save(tmp_path, obs=obs, reward=rng.integers(0, 2, 3000)))[0] == 300


def test_counting_joins_its_parts(tmp_path, monkeypatch):
    made = simulate(3000)
    path = save(tmp_path, **made.columns)
    whole, _ = audit_log(path)
    monkeypatch.setattr(survey, "_PENDING", 10)
    parts, _ = audit_log(path, chunk=50)
    assert parts.to_dict() == whole.to_dict()


def test_limits_are_clear(tmp_path, monkeypatch):
    path = save(tmp_path, **simulate(2000).columns)
    monkeypatch.setattr(coding, "MOST_VALUES", 10)
    with pytest.raises(errors.InvalidCellsError, match=r"state has more than 10 .*--bins state=10"):
        cells(path)
    monkeypatch.setattr(coding, "MOST_VALUES", 100)
    monkeypatch.setattr(survey, "MOST_CELLS", 30)
    with pytest.raises(errors.InvalidCellsError, match="more than 30 cells occur"):
        cells(path)
    obs = np.random.default_rng(0).normal(size=(50, 60))
    wide = save(tmp_path, obs=obs, reward=np.arange(50) % 2)
    with pytest.raises(errors.InvalidCellsError, match="60 columns give"):
        cells(wide)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("-1,1", up.RewardLevels([-1, 1])),
        ("1, -1,0", up.RewardLevels([-1, 0, 1])),
        ("-17:0:17", up.RewardLevels.uniform(-17, 0, 17)),
        ("-17:0:17:upper", up.RewardLevels.uniform(-17, 0, 17, "upper")),
    ],
)
def test_levels_as_users_write_them(text, levels):
    assert rewards.levels_from(text) == levels


@pytest.mark.parametrize("text", ["", "1", "a,b", "0:1", "0:1:x", "0:1:5:best", "0:1:5:upper:x"])
def test_levels_that_make_no_sense(text):
    with pytest.raises((errors.InvalidOptionError, errors.InvalidLevelsError)):
        rewards.levels_from(text)


def test_levels_are_guessed_from_few_rewards_without_float_noise(tmp_path):
    made = simulate(1000).columns
    noisy = np.where(made["reward"] == 1, np.float32(0.1), 0.2).astype(np.float64)
    noisy[::2] = np.where(made["reward"] == 1, 0.1, 0.2)[::2]
    audit, _ = audit_log(save(tmp_path, **{**made, "reward": noisy}))
    assert audit.levels.tolist() == [0.1, 0.2]


def test_minus_zero_is_zero(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,reward\n0,-0.0\n1,1\n1,0\n")
    audit, _ = audit_log(path)
    assert [str(value) for value in audit.levels] == ["0.0", "1.0"]


def test_continuous_rewards_need_intervals_and_are_clipped(tmp_path):
    made = simulate(2000)
    rng = np.random.default_rng(1)
    reward = made.columns["reward"] + rng.uniform(0, 0.4, 2000)
    path = save(tmp_path, **{**made.columns, "reward": reward})
    with pytest.raises(errors.InvalidLevelsError, match="--levels 0:2:10"):
        audit_log(path)
    audit, _ = audit_log(path, levels="0:1.3:2")
    assert any(found.kind == "clipped" for found in audit.findings)
    np.testing.assert_allclose(audit.confusion, [[0.9, 0.1], [0.3, 0.7]], atol=0.06)
