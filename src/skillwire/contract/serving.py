"""`serve --contract`: what has to be right before a server starts."""

from skillwire.contract.options import ContractOptions
from skillwire.contract.report import print_contract_problems
from skillwire.contract.repository import contracted
from skillwire.errors import SourceError
from skillwire.library.library import Library
from skillwire.terminal.messages import counted
from skillwire.terminal.output import talk


def check_before_serving(library: Library, terms: ContractOptions) -> None:
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
