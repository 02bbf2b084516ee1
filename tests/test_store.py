"""Arrays on disk: whole or not at all, and anything else than such a file is one named error."""

import io
import zipfile

import numpy as np
import pytest

from unperturb._store import load_arrays, save_arrays
from unperturb.errors import DamagedFileError

ARRAYS = {"x": np.arange(5), "a/b": np.eye(2), "text": np.array("{}")}


def test_arrays_come_back(tmp_path):
    path = save_arrays(tmp_path / "new" / "folder" / "file", ARRAYS)
    assert path == tmp_path / "new" / "folder" / "file"  # no suffix is added
    found = load_arrays(path, needs=["x"])
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    save_arrays(path, {"x": np.zeros(1)})  # a second save replaces the first
    assert load_arrays(path)["x"].tolist() == [0]
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_others_may_read_what_they_may_read_of_any_file(tmp_path):
    (tmp_path / "plain").write_text("")
    path = save_arrays(tmp_path / "file.npz", ARRAYS)
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = save_arrays(tmp_path / "file.npz", ARRAYS)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save_arrays(path, {"x": np.array([object()])})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["file.npz"]


def zipped(name, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(name, content)
    return stream.getvalue()


def single_array():
    stream = io.BytesIO()
    np.save(stream, np.arange(3))
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"PK\x03\x04 cut short", single_array(), zipped("x.npy", b"\x93NUMPY broken")],
)
def test_other_files_are_damaged(tmp_path, content):
    path = tmp_path / "file.npz"
    path.write_bytes(content)
    with pytest.raises(
        DamagedFileError, match=r"file\.npz can't be read \(.*; it must be an .npz"
    ) as e:
        load_arrays(path)
    assert "pickle" not in str(e.value)


def test_a_missing_array_is_named(tmp_path):
    path = save_arrays(tmp_path / "file.npz", ARRAYS)
    with pytest.raises(
        DamagedFileError, match=r"file\.npz holds no y, z; it must be an \.npz file"
    ):
        load_arrays(path, needs=["x", "y", "z"])


def test_files_that_are_not_there_are_no_damaged_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "nothing.npz")
    with pytest.raises(IsADirectoryError):
        load_arrays(tmp_path)


def test_pickles_are_never_read(tmp_path):
    np.savez(tmp_path / "evil.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DamagedFileError, match="can't be read"):
        load_arrays(tmp_path / "evil.npz")


def test_any_flipped_byte_is_noticed_or_harmless(tmp_path):
    path = save_arrays(tmp_path / "file.npz", {"x": np.arange(5), "y": np.array("text")})
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = 0
    for place in rng.permutation(len(whole))[:300]:
        broken = bytearray(whole)
        broken[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(broken))
        try:
            found = load_arrays(path, needs=["x", "y"])
        except DamagedFileError:
            damaged += 1
        else:  # in a date or another field that carries nothing
            assert found["x"].tolist() == list(range(5))
            assert str(found["y"]) == "text"
    assert damaged > 150
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFileError):
            load_arrays(path)
