"""What is remembered of servers between commands: where it is, and whether there is anything yet."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from skillwire.config.settings import state_folder_from
from skillwire.errors import StateError
from skillwire.host.store.state import DATABASE, State
from skillwire.terminal.output import print_error


@contextmanager
def open_state() -> Generator[State]:
    """Yield what is remembered, made if there is none. Raises `StateError`."""
    with State.open(state_folder_from(os.environ)) as state:
        if state.damaged is not None:
            print_error(str(state.damaged), hint=state.damaged.hint)
        yield state


@contextmanager
def state_or_error() -> Generator[State | StateError]:
    """Yield what is remembered, made if there is none; or why that cannot be used."""
    with ExitStack() as stack:
        try:
            state = stack.enter_context(open_state())
        except StateError as error:
            yield error
        else:
            yield state


@contextmanager
def open_existing_state() -> Generator[State | None]:
    """Yield what is remembered; None if there is nothing, and then nothing is made."""
    if not (state_folder_from(os.environ) / DATABASE).exists():
        yield None
        return
    with open_state() as state:
        yield state
