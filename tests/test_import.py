"""Importing the library is cheap and loads nothing that the core does not need."""

import json
import subprocess
import sys

CODE = """
import json, sys, time
start = time.perf_counter()
import numpy, scipy.special, gymnasium
middle = time.perf_counter()
import unperturb
end = time.perf_counter()
heavy = ["jax", "torch", "pandas", "matplotlib", "gymnax", "tqdm"]
print(json.dumps([end - middle, [name for name in heavy if name in sys.modules]]))
"""


def fresh():
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


def test_the_core_loads_fast_and_alone():
    # The best of three: a busy machine slows one start, not all of them.
    runs = [fresh() for _ in range(3)]
    assert all(loaded == [] for _, loaded in runs)
    assert min(seconds for seconds, _ in runs) < 0.5


def test_every_public_name_is_there():
    import unperturb

    for name in unperturb.__all__:
        assert getattr(unperturb, name) is not None


def test_each_error_is_a_value_error_and_says_three_things():
    from unperturb import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert len(kinds) > 10
    for kind in kinds:
        error = kind("found", "rule", "remedy")
        assert isinstance(error, ValueError)
        assert isinstance(error, errors.UnperturbError)
        assert str(error) == "found; rule. remedy"
        assert (error.found, error.rule, error.remedy) == ("found", "rule", "remedy")
    assert issubclass(errors.MissingExtraError, ImportError)
