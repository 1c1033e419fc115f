"""Why nothing can be read from a frontmatter."""

from skillwire.model.problem import Problem, Rule, Severity


class UnreadableError(Exception):
    """The one fault that ends the reading of a frontmatter. `read_document` turns it into a `Problem`."""

    def __init__(self, rule: Rule, message: str, *, hint: str, line: int | None = None) -> None:
        self.rule, self.message, self.hint, self.line = rule, message, hint, line
        super().__init__(message)

    def problem(self, path: str) -> Problem:
        """Return the fault as a problem of the file at `path`."""
        return Problem(path, self.rule, Severity.ERROR, self.message, hint=self.hint, line=self.line)
