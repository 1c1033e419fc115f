"""`serve --contract`: what has to be right before a server starts."""

from skillwire.catalog.contracted import contracted
from skillwire.catalog.library import Library
from skillwire.catalog.register import Terms
from skillwire.cli.contract.printing import print_contract_problems
from skillwire.cli.output import counted, talk
from skillwire.model.errors import SourceError, UsageError


def terms_of(key: str, *, contract: bool, tolerant: bool) -> Terms | None:
    """Return how skills are held to the contract, if they are. Raises `UsageError`."""
    if tolerant and not contract:
        raise UsageError(
            "`--tolerant` needs `--contract`", hint="add `--contract`, or leave `--tolerant` out"
        )
    return Terms(key, tolerant) if contract else None


def hold_to_contract(library: Library, terms: Terms) -> None:
    """Tell every error; raise `SourceError` if there is one, unless what is broken may be left out."""
    found = contracted(library.catalog, terms.key)
    console = talk()
    print_contract_problems(console, found.errors)
    good = sum(1 for _ in found.repository.sound)
    keep = "keeps" if good == 1 else "keep"
    if found.errors and not terms.tolerant:
        raise SourceError(
            f"nothing is served: {counted(len(found.errors), 'error')} against the contract, told above; "
            "`--tolerant` serves the skills that keep it"
        )
    console.print(f"{counted(good, 'skill')} {keep} the contract; {counted(len(found.errors), 'error')}")
