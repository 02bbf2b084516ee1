"""Every format: the same audit, a faithful copy with four columns more, in chunks of any size."""

import csv
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_samples import (
    FORMATS,
    ROWS,
    create_minari,
    read_log,
    simulate,
    write_csv,
    write_log,
    write_minari,
)

import unperturb as up
from unperturb.logs import audit_log, correct_log
from unperturb.logs.files import open_log
from unperturb.logs.output import ADDED

every_format = pytest.mark.parametrize("kind", FORMATS)


@every_format
def test_the_audit_is_that_of_the_counts(kind, log_of, made):
    audit, _ = audit_log(log_of(kind))
    counts = np.zeros((40, 2))
    cell = made.columns["state"] * 2 + made.columns["action"]
    np.add.at(counts, (cell, made.columns["reward"].astype(int)), 1)
    expected = up.RewardAudit.from_counts(counts, up.RewardLevels([0.0, 1.0]))
    assert audit.observations == ROWS
    np.testing.assert_allclose(audit.confusion, expected.confusion, atol=1e-12)
    np.testing.assert_allclose(audit.interval, expected.interval, atol=1e-12)
    assert audit.findings == expected.findings


@every_format
def test_the_copy_holds_the_log_and_four_columns_more(kind, log_of, made, tmp_path):
    path = log_of(kind)
    out = tmp_path / path.name.replace("log", "better")
    correct_log(path, out)
    found = read_log(out)
    assert set(found) == {*made.columns, *ADDED}
    for name, values in made.columns.items():
        np.testing.assert_array_equal(found[name], values)
    for name in ADDED:
        assert found[name].shape == (ROWS,)
        assert np.isfinite(found[name]).all()
    assert set(found["true_level"]) == {0.0, 1.0}
    assert found["suspicion"].min() >= 0
    assert found["suspicion"].max() <= 1
    assert found["level_posterior"].min() >= 0.5
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


@every_format
def test_small_chunks_give_the_same_as_the_whole(kind, log_of, tmp_path):
    path = log_of(kind)
    results = []
    for i, chunk in enumerate((7, 500, 10**6)):
        out = tmp_path / f"{i}{path.suffix}"
        audit, suspects = correct_log(path, out, suspects=25, chunk=chunk)
        assert len(list(open_log(path, chunk).chunks(["reward"]))) > 1 or chunk > ROWS
        results.append((audit.to_dict(), suspects, read_log(out)))
    for audit, suspects, columns in results[1:]:
        assert audit == results[0][0]
        assert suspects == results[0][1]
        for name, values in columns.items():
            np.testing.assert_array_equal(values, results[0][2][name])


def test_csv_is_copied_byte_by_byte(tmp_path):
    made = simulate(600)
    texts = ['say "x",\nand y', "0.10", "007", "", " padded "]
    path = tmp_path / "log.csv"
    with open(path, "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([*made.columns, "note"])
        rows = zip(*(column.tolist() for column in made.columns.values()), strict=True)
        for i, row in enumerate(rows):
            writer.writerow([*row, texts[i % len(texts)]])
            if i % 100 == 0:
                file.write("\r\n")
    path.write_bytes(path.read_bytes().removesuffix(b"\r\n"))
    out = tmp_path / "out.csv"
    correct_log(path, out, chunk=10)
    kept = [line for line in path.read_bytes().split(b"\r\n") if line]
    lines = out.read_bytes().split(b"\r\n")
    assert len(lines) == len(kept) + 1
    assert lines[-1] == b""
    for line, new in zip(kept, lines, strict=False):
        assert new.startswith(line + b",")
    with open(out, newline="", encoding="utf-8-sig") as file:
        read = list(csv.DictReader(file))
    assert [row["note"] for row in read] == [texts[i % len(texts)] for i in range(600)]
    assert set(ADDED) < set(read[0])


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_csv_with_other_separators(delimiter, made, tmp_path):
    path = write_csv(tmp_path / "log.csv", made.columns, delimiter)
    correct_log(path, tmp_path / "out.csv")
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header.split(delimiter) == [*made.columns, *ADDED]


def test_csv_rewards_may_be_true_and_false(made, log_of, tmp_path):
    path = write_csv(tmp_path / "log.csv", {**made.columns, "reward": made.columns["reward"] == 1})
    assert audit_log(path)[0].to_dict() == audit_log(log_of("csv"))[0].to_dict()
    path.write_text(path.read_text() + "1,1,maybe\n")
    with pytest.raises(up.errors.BadRowError, match=r"row 4000 .*'maybe'; it is true or false"):
        audit_log(path, chunk=100)


def test_csv_integers_that_turn_into_numbers_later(tmp_path):
    """The first block looks like integers; the column is continuous all the same."""
    made = simulate(3000)
    state = made.columns["state"].astype(object)
    state[2500] = 7.5
    path = write_csv(tmp_path / "log.csv", {**made.columns, "state": state})
    said = []
    small, _ = audit_log(path, chunk=20, say=said.append)
    assert "state: 10 bins from 0 to 19" in said[1]
    assert small.to_dict() == audit_log(path)[0].to_dict()


def test_csv_with_rows_longer_than_a_block(tmp_path):
    made = simulate(200)
    path = write_csv(tmp_path / "log.csv", {**made.columns, "text": ["x" * 3000] * 200})
    audit, _ = audit_log(path, chunk=4)
    assert audit.observations == 200


def test_csv_with_a_stray_quotation_mark_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('state,reward,note\n1,0,5" nail\n1,1,x\n2,0,5" nail\n2,1,y\n')
    with pytest.raises(up.errors.DamagedFileError, match="quotation mark"):
        correct_log(path, tmp_path / "out.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_parquet_keeps_types_metadata_and_compression(made, tmp_path):
    table = pa.table(
        {
            **made.columns,
            "tag": pa.array(["a", "b"] * (ROWS // 2)).dictionary_encode(),
            "list": pa.array([[1, 2]] * ROWS),
        }
    ).replace_schema_metadata({"who": "a test"})
    path, out = tmp_path / "log.parquet", tmp_path / "out.parquet"
    pq.write_table(table, path, compression="zstd")
    correct_log(path, out, state="tag,list", chunk=300)
    found = pq.read_table(out)
    assert found.select(table.column_names).equals(table)
    assert found.schema.metadata[b"who"] == b"a test"
    assert pq.ParquetFile(out).metadata.row_group(0).column(0).compression == "ZSTD"


def test_lists_and_matrices_are_columns_of_several_numbers(tmp_path):
    rng = np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (2000, 2))
    reward = np.where(rng.random(2000) < 0.2, obs[:, 0] < 0, obs[:, 0] >= 0).astype(float)
    np.savez(tmp_path / "a.npz", obs=obs, reward=reward)
    np.savez_compressed(tmp_path / "b.npz", obs=np.asfortranarray(obs), reward=reward[:, None])
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(obs.ravel()), 2)
    pq.write_table(pa.table({"obs": fixed, "reward": reward}), tmp_path / "c.parquet")
    pq.write_table(
        pa.table({"obs": pa.array(obs.tolist()), "reward": reward}), tmp_path / "d.parquet"
    )
    audits = [audit_log(path, chunk=300)[0] for path in sorted(tmp_path.iterdir())]
    for audit in audits:
        assert audit.cells_seen == 100
        assert audit.to_dict() == audits[0].to_dict()
    parts, _ = audit_log(tmp_path / "a.npz", state="obs[0]", bins=4)
    assert parts.cells_seen == 4


def test_npz_keeps_other_arrays_and_packing(made, tmp_path):
    path, out = tmp_path / "log.npz", tmp_path / "out.npz"
    extra = {"gamma": np.array(0.99), "image": np.zeros((ROWS, 3, 3), np.uint8)}
    np.savez_compressed(path, **made.columns, **extra)
    correct_log(path, out)
    with np.load(out) as found:
        np.testing.assert_array_equal(found["image"], extra["image"])
        assert found["gamma"] == 0.99
        assert found["suspicion"].dtype == np.float64
    with zipfile.ZipFile(out) as archive:
        assert {m.compress_type for m in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def test_text_is_one_state_for_each_word(made, tmp_path):
    words = {"state": np.array([f"room {s}" for s in made.columns["state"]])}
    plain, _ = audit_log(write_log(tmp_path, "npz", made.columns))
    for kind in ("csv", "parquet", "npz"):
        audit, _ = audit_log(
            write_log(tmp_path, kind, {**made.columns, **words}, "words"), chunk=99
        )
        assert audit.cells_seen == plain.cells_seen
        np.testing.assert_allclose(audit.confusion, plain.confusion, atol=1e-9)


@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
def test_minari_keeps_episodes_and_infos(data_format, made, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari", reason="pip install 'unperturb[minari]'")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    write_minari(tmp_path / "toy-v0", made.columns, data_format, infos=True)
    correct_log("toy-v0", "toy/better-v1")
    before, after = minari.load_dataset("toy-v0"), minari.load_dataset("toy/better-v1")
    assert after.id == "toy/better-v1"
    assert after.total_episodes == before.total_episodes == 40
    assert after.total_steps == ROWS
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old.observations, new.observations)
        np.testing.assert_array_equal(old.rewards, new.rewards)
        np.testing.assert_array_equal(old.truncations, new.truncations)
        np.testing.assert_array_equal(old.infos["clock"], new.infos["clock"])
        assert np.isnan(new.infos["suspicion"][0])
        assert len(new.infos["suspicion"]) == len(new) + 1
    seeds = [m["seed"] for m in after.storage.get_episode_metadata(range(40))]
    assert seeds == list(range(40))
    with pytest.raises(up.errors.OutputError, match="already has corrected_reward"):
        correct_log("toy/better-v1", "toy/again-v1")
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["toy", "toy-v0"]


def test_minari_parts_of_a_dictionary_are_columns(tmp_path, monkeypatch):
    pytest.importorskip("minari", reason="pip install 'unperturb[minari]'")
    import gymnasium as gym
    from minari.data_collector.episode_buffer import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    rng = np.random.default_rng(0)
    place, goal = rng.integers(0, 5, 301), rng.uniform(0, 1, (301, 2))
    buffer = EpisodeBuffer(
        id=0,
        observations={"goal": goal, "place": place},
        actions=rng.integers(0, 2, 300),
        rewards=(place[:-1] > 2).astype(float),
        terminations=np.zeros(300, bool),
        truncations=np.arange(300) == 299,
    )
    spaces = gym.spaces.Dict(
        goal=gym.spaces.Box(0, 1, (2,), np.float64), place=gym.spaces.Discrete(5)
    )
    create_minari("parts-v0", [buffer], spaces, gym.spaces.Discrete(2))
    log = open_log(tmp_path / "parts-v0")
    assert log.widths["observation.goal"] == 2
    assert {"observation.place", "next_observation.place", "action", "reward"} < set(log.widths)
    audit, _ = audit_log("parts-v0", state="observation.place")
    assert audit.cells_seen == 10
    assert audit_log("parts-v0")[0].observations == 300


def test_suspects_and_audit_can_be_written_as_json(log_of):
    audit, suspects = audit_log(log_of("csv"), suspects=3)
    assert json.loads(json.dumps([s._asdict() for s in suspects]))[0]["row"] == suspects[0].row
    assert json.loads(audit.to_json())["observations"] == ROWS
