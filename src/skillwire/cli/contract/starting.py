"""`serve --contract`: what has to be right before a server starts."""

from skillwire.catalog.contracted import contracted
from skillwire.catalog.library import Library
from skillwire.cli.contract.printing import print_contract_problems
from skillwire.cli.output import talk
from skillwire.cli.saying import counted
from skillwire.contract.terms import Terms
from skillwire.model.errors import SourceError


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
