"""Open the state: the approvals, grants, cached files and logins that all commands share."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from skillwire.config.settings import state_folder_from
from skillwire.errors import StateError
from skillwire.host.store.state import DATABASE, State
from skillwire.terminal.output import print_error


@contextmanager
def open_state() -> Generator[State]:
    """Yield the state, and create it if it does not exist. Raises `StateError`.

    If the stored state was damaged and moved aside, prints an error and yields a new state.
    """
    with State.open(state_folder_from(os.environ)) as state:
        if state.damaged is not None:
            print_error(str(state.damaged), hint=state.damaged.hint)
        yield state


@contextmanager
def state_or_error() -> Generator[State | StateError]:
    """Yield the state, or the error that prevents its use. Creates the state if it does not exist."""
    with ExitStack() as stack:
        try:
            state = stack.enter_context(open_state())
        except StateError as error:
            yield error
        else:
            yield state


@contextmanager
def open_existing_state() -> Generator[State | None]:
    """Yield the state, or None if it does not exist. Creates nothing. Raises `StateError`."""
    if not (state_folder_from(os.environ) / DATABASE).exists():
        yield None
        return
    with open_state() as state:
        yield state
