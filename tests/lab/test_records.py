import json
import os

import numpy as np
import pytest

from unperturb.errors import (
    DamagedFileError,
    InvalidOptionError,
    MissingRecordError,
    RecordExistsError,
)
from unperturb.lab.records import Records

SETTINGS = {"agent": "dqn", "seed": 1, "noise": {"e_minus": 0.0, "e_plus": 0.3}}


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "records")


def test_what_is_saved_comes_back(records):
    curve = np.arange(6.0).reshape(2, 3)
    records.save(SETTINGS, curve=curve, steps=np.int64(7), name=np.array("x"))
    record = records.load(SETTINGS)
    assert record.settings == SETTINGS
    np.testing.assert_array_equal(record.arrays["curve"], curve)
    assert record.arrays["steps"] == 7
    assert str(record.arrays["name"]) == "x"
    assert records.has(SETTINGS)


def test_the_name_depends_on_values_and_not_on_order(records):
    turned = dict(reversed(list(SETTINGS.items())))
    assert records.path(turned) == records.path(SETTINGS)
    assert records.path({**SETTINGS, "seed": 2}) != records.path(SETTINGS)
    assert len(records.path(SETTINGS).stem) == 16


def test_a_finished_unit_is_not_overwritten(records):
    path = records.save(SETTINGS, x=np.zeros(2))
    before = path.read_bytes()
    with pytest.raises(RecordExistsError, match="never overwritten"):
        records.save(SETTINGS, x=np.ones(2))
    assert path.read_bytes() == before


def test_the_same_result_gives_the_same_bytes(tmp_path):
    first = Records(tmp_path / "a").save(SETTINGS, x=np.arange(5.0))
    second = Records(tmp_path / "b").save(SETTINGS, x=np.arange(5.0))
    assert first.read_bytes() == second.read_bytes()


def test_an_interrupted_write_leaves_nothing(records, monkeypatch):
    def killed(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        records.save(SETTINGS, x=np.zeros(2))
    assert list(records.folder.iterdir()) == []
    assert not records.has(SETTINGS)


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_cut_file_is_named_with_its_remedy(records, keep):
    path = records.save(SETTINGS, x=np.arange(100.0))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DamagedFileError, match=rf"{path.name}.*delete it; it is trained again"):
        records.load(SETTINGS)
    with pytest.raises(DamagedFileError, match=path.name):
        list(records.all())


def test_a_flipped_byte_is_noticed(records):
    path = records.save(SETTINGS, x=np.random.default_rng(0).random(1000))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(DamagedFileError):
        records.load(SETTINGS)


def test_a_file_under_the_wrong_name_is_refused(records):
    path = records.save(SETTINGS, x=np.zeros(1))
    other = {**SETTINGS, "seed": 9}
    path.rename(records.path(other))
    with pytest.raises(DamagedFileError, match="other settings"):
        records.load(other)


def test_pickle_is_never_read_or_written(records):
    with pytest.raises(InvalidOptionError, match="plain arrays"):
        records.save(SETTINGS, x=np.array([{}], dtype=object))
    path = records.path(SETTINGS)
    path.parent.mkdir(exist_ok=True)
    np.savez(path, settings=np.array(json.dumps(SETTINGS)), x=np.array([{}], dtype=object))
    with pytest.raises(DamagedFileError):
        records.load(SETTINGS)


def test_the_name_settings_is_taken(records):
    with pytest.raises(TypeError):
        records.save(**{"settings": SETTINGS})
    with pytest.raises(InvalidOptionError, match="any name but 'settings'"):
        records.save(SETTINGS, **{"settings": np.zeros(1)})


@pytest.mark.parametrize("bad", [float("nan"), object(), np.float32(1.0), {1, 2}])
def test_settings_must_be_json(records, bad):
    with pytest.raises(InvalidOptionError, match="JSON"):
        records.path({"x": bad})


def test_asking_for_an_unfinished_unit(records):
    with pytest.raises(MissingRecordError, match="unperturb reproduce"):
        records.load(SETTINGS)


def test_missing_and_all(records):
    wanted = [{"agent": agent, "seed": seed} for agent in ("a", "b") for seed in range(2)]
    assert list(records.all()) == []
    records.save(wanted[2], x=np.zeros(1))
    records.save(wanted[0], x=np.ones(1))
    assert records.missing(wanted) == [wanted[1], wanted[3]]
    assert [record.settings for record in records.all(agent="b")] == [wanted[2]]
    assert len(list(records.all())) == 2
    assert list(records.all(nothing=1)) == []
