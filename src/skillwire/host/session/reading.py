"""What was read of a skill or a server, and how a model is given it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes that were verified as far as anything promises them."""

    label: str
    uri: str
    content: bytes
    text: str
    """For the model, as the result of a tool: it says from whom it is (H20)."""
