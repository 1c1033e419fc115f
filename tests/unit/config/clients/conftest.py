"""A machine whose files of clients are those of the test."""

from pathlib import Path

import pytest

from tests.support.client_files import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.at(tmp_path)
