"""One log, written once in each format."""

import pytest
from log_samples import simulate, write_log


@pytest.fixture(scope="session")
def made():
    return simulate()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="session")
def log_of(folder, made):
    """Give the path of the log in a format; each is written once."""
    paths = {}

    def get(kind):
        if kind not in paths:
            paths[kind] = write_log(folder, kind, made.columns)
        return paths[kind]

    return get
