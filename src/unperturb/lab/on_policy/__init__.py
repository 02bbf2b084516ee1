"""Training of agents that learn from what they played themselves, many environments at a time.

`compiled.py` plays environments of gymnax, all seeds of a batch in one compiled loop; `hosted.py`
plays vector environments of Gymnasium, Atari among them. Both hand the true rewards of a rollout to
`reward_stream.py` and learn from what comes back.
"""
