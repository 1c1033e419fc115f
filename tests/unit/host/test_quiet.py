"""In a process of ours, what servers say stays out of the logs while somebody is connected, and no longer."""

import logging

import pytest

from skillwire.core.process import owned
from skillwire.host.connections.sdk_logging import silence_sdk_logging


def heard(caplog: pytest.LogCaptureFixture) -> bool:
    caplog.clear()
    logging.getLogger("mcp.client.stdio").warning("said by a server")
    return bool(caplog.records)


def test_logging_resumes_when_the_last_connection_ends(caplog: pytest.LogCaptureFixture) -> None:
    first, second = silence_sdk_logging(), silence_sdk_logging()
    with owned():
        first.__enter__()
        second.__enter__()
    first.__exit__(None, None, None)  # they need not end in the order of their beginnings
    assert not heard(caplog)
    second.__exit__(None, None, None)
    assert heard(caplog)


def test_loggers_of_an_embedding_program_are_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    with silence_sdk_logging():
        assert heard(caplog)
        assert logging.getLogger("mcp.client").propagate


def test_own_log_messages_are_not_silenced(caplog: pytest.LogCaptureFixture) -> None:
    with owned(), silence_sdk_logging():
        logging.getLogger("skillwire.server.build").error("of our own")
    assert [record.getMessage() for record in caplog.records] == ["of our own"]
