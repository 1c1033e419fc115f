"""`HostedTemplate`: a template in a host. It stands for many unlisted skills of one server or folder."""

from dataclasses import dataclass
from urllib.parse import quote

from skillwire.core.names import SKILL_FILE, root_uri
from skillwire.core.record import Trust, Withheld
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import describe_parameters, explain_mismatch
from skillwire.protocol.templates import TemplateClaim
from skillwire.safe_text import strip_invisible

_SHOWN_DESCRIPTION = 1024
_IN_URIS = "!$&'()*+,;=:@/?#~{}"
_UNDECIDED = Withheld("its skills are approved one by one", "load one, or approve it with `Host.approve`")


@dataclass(frozen=True, slots=True)
class HostedTemplate:
    """A template of a server or folder, and its unique name in a host. Its skills are approved one by one."""

    template: SkillTemplate
    claim: TemplateClaim | None = None
    """The claim that the server listed. None for the user's own templates."""
    handle: str = ""
    """The unique name for people and models, such as `label:docs/{product}/guide`. A registry sets it."""

    @classmethod
    def of_server(cls, label: str, claim: TemplateClaim) -> "HostedTemplate":
        template = SkillTemplate(
            path=claim.path,
            description=claim.description,
            label=label,
            location=claim.uri_template,
            trust=Trust.WITHHELD,
            withheld=_UNDECIDED,
            foreign=True,
        )
        return cls(template, claim)

    @property
    def label(self) -> str:
        return self.template.label

    @property
    def local(self) -> bool:
        """Whether it is one of the user's own templates."""
        return self.claim is None

    @property
    def path(self) -> str:
        return self.template.path

    @property
    def uri(self) -> str:
        """The URI template. For a server's template, this is the URI template on the server."""
        return self.template.uri if self.claim is None else self.claim.uri_template

    @property
    def description(self) -> str:
        """The description of the template, shortened and cleaned for people and models (H27)."""
        return strip_invisible(self.template.description, _SHOWN_DESCRIPTION)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the template's parameters, each once."""
        return tuple(dict.fromkeys(self.template.parameters))

    @property
    def spelling(self) -> str:
        """The URI template, escaped for display. It is unique among the templates with the same label."""
        return quote(self.uri, safe=_IN_URIS, errors="surrogatepass")

    def known_values(self, parameter: str) -> tuple[str, ...]:
        """Return all values of a parameter; none if the template does not list them."""
        return tuple(self.template.values.get(parameter, ()))

    def instance(self, path: str) -> str | None:
        """Return the URI of the skill at a decoded path, or None if the path does not fit the template.

        Makes no request, so a server may have no skill at this URI.
        """
        if self.claim is not None:
            values = self.claim.match_path(path)
            return None if values is None else self.claim.expand(values)
        if self.template.match_path(path) is None:
            return None
        uri = f"{root_uri(path.split('/'))}/{SKILL_FILE}"
        return uri if self.template.entry(uri) is not None else None

    def explain(self, path: str) -> str:
        """Return which parameters of `path` are missing or wrong; empty for a fitting or unrelated path."""
        return explain_mismatch(self.template, path)

    def describe_parameters(self) -> str:
        """Return each parameter with its possible values: `product: one of acme, globex; page: any value`."""
        return describe_parameters(self.template)
