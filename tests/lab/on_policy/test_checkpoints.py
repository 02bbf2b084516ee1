import numpy as np
import pytest

import unperturb as up
from unperturb.agents import ppo
from unperturb.agents.actor_critic import actor_critic
from unperturb.errors import DamagedFileError
from unperturb.lab import grid
from unperturb.lab.envs.vector import vector
from unperturb.lab.on_policy import hosted
from unperturb.lab.on_policy.checkpoint import Checkpoint, leaves, restored
from unperturb.lab.on_policy.episodes import Episodes
from unperturb.lab.on_policy.hosted import HostedPPO
from unperturb.lab.records import Records
from unperturb.lab.training import Lane
from unperturb.lab.units import unit

PLAN = ppo.Plan(envs=4, steps=32)
LEVELS = up.RewardLevels([-1.0, 1.0])


@pytest.fixture
def often(monkeypatch):
    """Keep a checkpoint after every rollout."""
    monkeypatch.setattr(hosted, "Checkpoint", lambda path: Checkpoint(path, every=0.0))


def trainer():
    def build():
        return vector("CartPole-v1", envs=4)

    net = actor_critic(build().observation_space, build().action_space)
    return HostedPPO(build, net, PLAN, ppo.Hyper(rate=1e-3), LEVELS, up.Cells.cartpole())


def lane():
    corrector = up.RewardCorrector(LEVELS, up.Cells.cartpole())
    return Lane(0, up.confusion.binary(0.0, 0.3).matrix, corrector=corrector)


class StopError(Exception):
    """Somebody pulled the plug."""


def stop_at(step):
    def watch(t, score):
        if t >= step:
            raise StopError

    return watch


def test_a_run_that_was_killed_goes_on(tmp_path, often):
    path = tmp_path / "run.npz"
    with pytest.raises(StopError):
        trainer().run([lane()], 1024, stop_at(512), keep=[path])
    seen = []
    (outcome,) = trainer().run([lane()], 1024, lambda t, _: seen.append(t), keep=[path])
    assert seen[0] == 640
    assert outcome.resumed == 1
    assert outcome.ends[-1] <= 1024
    assert (np.diff(outcome.ends) >= 0).all()
    assert outcome.estimated[-1] > 512 > outcome.estimated[1]


def test_nothing_is_kept_that_was_not_asked_for(tmp_path, often, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer().run([lane()], 128)
    assert not list(tmp_path.iterdir())


def test_a_damaged_checkpoint_is_one_clear_error(tmp_path, often):
    path = tmp_path / "run.npz"
    path.write_bytes(b"PK\x03\x04 no more than this")
    with pytest.raises(DamagedFileError, match="delete it"):
        trainer().run([lane()], 128, keep=[path])


def test_a_checkpoint_that_lacks_something_is_one_clear_error(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, n=np.array(1))
    with pytest.raises(DamagedFileError, match="holds no seconds"):
        trainer().run([lane()], 128, keep=[path])


def test_a_checkpoint_of_another_net_is_refused():
    with pytest.raises(DamagedFileError, match=r"\(3,\).*\(2,\)"):
        restored([np.zeros(2)], leaves([np.zeros(3)], "net"), "net")


def test_the_grid_resumes_and_tidies_up(tmp_path, often, monkeypatch):
    play = {"envs": 2, "steps": 16, "minibatches": 2, "epochs": 1, "frame": 42, "vision": "small"}
    wanted = unit("ALE/Pong-v5", "ppo", 96, seed=0, reward="noisy", weight=0.3, play=play)
    records = Records(tmp_path)
    with pytest.raises(StopError):
        grid.train([wanted], records, stop_at(64))
    assert records.unfinished(wanted).exists()
    assert not records.has(wanted)
    assert not list(records.all())
    grid.train([wanted], records)
    assert not records.unfinished(wanted).exists()
    record = records.load(wanted)
    assert record.arrays["resumed"] == 1
    assert record.arrays["seconds"] > 0
    np.testing.assert_allclose(record.arrays["noise"], up.confusion.symmetric(3, 0.3).matrix)


def test_what_is_left_of_a_finished_run_is_removed(tmp_path):
    wanted = unit("FrozenLake-v1", "ppo", 8, 0, levels=up.RewardLevels([0.0, 1.0]))
    records = Records(tmp_path)
    records.save(wanted, returns=np.zeros(1))
    left = records.unfinished(wanted)
    left.parent.mkdir()
    left.touch()
    grid.run([wanted], records, "one")
    assert not left.exists()


def test_episodes_come_in_the_order_of_their_ends():
    nan = np.nan
    episodes = Episodes()
    assert np.isnan(episodes.score())
    episodes.add(np.array([[nan, 1.0], [2.0, nan]]))
    episodes.add(np.array([[3.0, 4.0], [nan, nan]]))
    assert episodes.returns.tolist() == [1, 2, 3, 4]
    assert episodes.ends.tolist() == [2, 4, 6, 6]
    assert episodes.score() == 2.5
    assert episodes.t == 8
