"""Environments of the laboratory. Importing this registers them with Gymnasium."""

import gymnasium

from unperturb.lab.envs.six_state import EPISODE

SIX_STATE = "unperturb/SixState-v0"

if SIX_STATE not in gymnasium.registry:
    gymnasium.register(
        id=SIX_STATE,
        entry_point="unperturb.lab.envs.six_state:SixStateEnv",
        max_episode_steps=EPISODE,
    )
