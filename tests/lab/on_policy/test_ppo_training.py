import json

import gymnasium as gym
import numpy as np
import pytest

from unperturb import Cells, RewardCorrector
from unperturb.agents import ppo
from unperturb.agents.actor_critic import actor_critic
from unperturb.cli import main
from unperturb.errors import InvalidOptionError
from unperturb.lab.envs.vector import vector
from unperturb.lab.on_policy.hosted import HostedPPO
from unperturb.lab.on_policy.presets import play_preset
from unperturb.lab.training import Lane
from unperturb.lab.units import lane_of, preset, trainer_of, unit
from unperturb.levels import RewardLevels


def test_hosted_ppo_learns_to_balance():
    def build():
        return vector("CartPole-v1", envs=8)

    net = actor_critic(build().observation_space, build().action_space)
    hyper = ppo.Hyper(rate=1e-3, clip=0.2, clip_end=0.2, entropy=0.0)
    trainer = HostedPPO(build, net, ppo.Plan(), hyper, RewardLevels([-1.0, 1.0]))
    (outcome,) = trainer.run([Lane(0, np.eye(2), raw=True)], steps=40_000)
    # Random play lasts some 22 steps.
    assert outcome.returns[:30].mean() < 40
    assert outcome.returns[-30:].mean() > 100


def test_compiled_ppo_learns_a_small_game():
    settings = unit("Breakout-MinAtar", "ppo", 100_000, seed=0)
    (outcome,) = trainer_of(settings).run([lane_of(settings)], 100_000)
    assert outcome.returns[-30:].mean() > 3 * outcome.returns[:30].mean()


def test_a_run_does_not_depend_on_those_beside_it():
    lanes = [Lane(seed, np.eye(2), raw=True) for seed in (3, 4)]
    trainer = trainer_of(unit("Breakout-MinAtar", "ppo", 20_000, seed=0))
    both, alone = trainer.run(lanes, 20_000), trainer.run(lanes[1:], 20_000)
    np.testing.assert_array_equal(both[1].returns, alone[0].returns)


def test_environments_of_a_run_differ():
    settings = unit("CartPole-v1", "ppo", 1024, seed=0)
    (outcome,) = trainer_of(settings).run([lane_of(settings)], 1024)
    assert len(set(outcome.returns.tolist())) > 3


def test_presets_fit_environments():
    assert play_preset("ALE/Pong-v5", "paper").steps == 30_000_000
    assert play_preset("ALE/Alien-v5", "paper").steps == 50_000_000
    assert play_preset("CartPole-v1").play["envs"] == 8
    with pytest.raises(InvalidOptionError, match="preset 'paper' for CartPole-v1"):
        play_preset("CartPole-v1", "paper")


def test_levels_of_games():
    assert preset("ALE/Pong-v5", "ppo").levels.values.tolist() == [-1, 0, 1]
    assert preset("ALE/Alien-v5", "ppo").levels.values.tolist() == [0, 1]
    assert preset("ALE/Boxing-v5", "ppo").levels.values.tolist() == [-1, 0, 1]
    assert preset("ALE/Alien-v5", "dqn") is None


def test_actions_that_begin_at_one_meet_their_cells():
    class Doors(gym.Env):
        observation_space = gym.spaces.Discrete(2, start=5)
        action_space = gym.spaces.Discrete(3, start=1)

        def reset(self, seed=None, options=None):
            super().reset(seed=seed)
            return 5, {}

        def step(self, action):
            assert self.action_space.contains(action)
            return 6, float(action == 3), True, False, {}

    levels, cells = RewardLevels([0.0, 1.0]), Cells.of(Doors())
    net = actor_critic(Doors.observation_space, Doors.action_space)
    lane = Lane(0, np.eye(2), corrector=RewardCorrector(levels, cells))
    gym.register("Doors-v0", Doors)
    try:
        trainer = HostedPPO(
            lambda: vector("Doors-v0", 4), net, ppo.Plan(4, 32), ppo.Hyper(), levels, cells
        )
        (outcome,) = trainer.run([lane], 128)
    finally:
        del gym.registry["Doors-v0"]
    assert outcome.returns.size == 128
    assert 0 < outcome.returns.mean() < 1


def test_atari_needs_ppo(capsys):
    assert main(["run", "ALE/Pong-v5", "dqn"]) == 2
    assert "Atari games are played by ppo" in capsys.readouterr().err


def test_units_say_how_many_environments_take_turns():
    settings = unit("Breakout-MinAtar", "ppo", 100, 0, reward="estimated", weight=0.1)
    assert settings["cells"] == {"kind": "adjacent", "batch": 32, "memory": 1000, "envs": 64}
    corrector = lane_of(settings).corrector
    assert corrector.refresh_every == 6400  # rewards: a hundred steps of all environments


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("CartPole-v1", ["--reward=posterior"]),
        ("FrozenLake-v1", ["--reward=known", "--noise=symmetric"]),
        ("Breakout-MinAtar", ["--reward=estimated"]),
    ],
)
def test_run_takes_any_environment(tmp_path, capsys, env, options):
    steps = ["--steps=2048", "--seeds=1", "--jobs=1", "--json", f"--out={tmp_path}"]
    assert main(["run", env, "ppo", *options, *steps]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["scores"]) == 1
    assert result["settings"]["play"]["envs"] >= 8
