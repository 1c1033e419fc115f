"""What servers say stays out of the logs while somebody is connected, and no longer."""

import logging

import pytest

from skillwire.host.connections.sdk_logging import quiet


def heard(caplog: pytest.LogCaptureFixture) -> bool:
    caplog.clear()
    logging.getLogger("mcp.client.stdio").warning("said by a server")
    return bool(caplog.records)


def test_the_logs_speak_again_when_the_last_connection_ends(caplog: pytest.LogCaptureFixture) -> None:
    first, second = quiet(), quiet()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # they need not end in the order of their beginnings
    assert not heard(caplog)
    second.__exit__(None, None, None)
    assert heard(caplog)


def test_what_we_log_ourselves_is_not_lost(caplog: pytest.LogCaptureFixture) -> None:
    with quiet():
        logging.getLogger("skillwire.server.build").error("of our own")
    assert [record.getMessage() for record in caplog.records] == ["of our own"]
