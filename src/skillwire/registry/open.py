"""Open the registry at an address."""

from skillwire.registry.address import RegistryAddress
from skillwire.registry.sqlite import SqliteDatabase
from skillwire.registry.store import Store


def open_store(address: RegistryAddress) -> Store:
    """Return the registry at an address. Nothing is opened before its first use."""
    database = SqliteDatabase(address.path, address.registry, create_folder=address.is_default)
    return Store(database)
