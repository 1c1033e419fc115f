"""Problems with a skill, a source or a server: what is wrong, where, and how to fix it."""

from dataclasses import dataclass
from enum import StrEnum

from skillwire.safe_text import escape_invisible, quote_if_needed, quoted


class Severity(StrEnum):
    """How serious a problem is. A skill with an `error` is not served; a skill with only `warning`s is."""

    ERROR = "error"
    WARNING = "warning"


class Rule(StrEnum):
    """The rules that a `Problem` can name as violated.

    `docs/problems.md` describes the rules. For the contract's rules, see `docs/contract-rules.md`; for
    `SERVER_RULES`, see `docs/verifying.md`.
    """

    # SKILL.md and its frontmatter
    FRONTMATTER_MISSING = "frontmatter-missing"
    FRONTMATTER_UNCLOSED = "frontmatter-unclosed"
    FRONTMATTER_ENCODING = "frontmatter-encoding"
    FRONTMATTER_SIZE = "frontmatter-size"
    FRONTMATTER_YAML = "frontmatter-yaml"
    FRONTMATTER_NOT_MAPPING = "frontmatter-not-mapping"
    YAML_AMBIGUOUS = "yaml-ambiguous"
    YAML_ANCHOR = "yaml-anchor"
    YAML_CHARACTER = "yaml-character"
    YAML_DEPTH = "yaml-depth"
    YAML_DIRECTIVE = "yaml-directive"
    YAML_DOCUMENTS = "yaml-documents"
    YAML_DUPLICATE_KEY = "yaml-duplicate-key"
    YAML_KEY = "yaml-key"
    YAML_NUMBER = "yaml-number"
    YAML_TAG = "yaml-tag"
    # The Agent Skills fields
    NAME_MISSING = "name-missing"
    NAME_FORMAT = "name-format"
    NAME_FOLDER = "name-folder"
    DESCRIPTION_MISSING = "description-missing"
    DESCRIPTION_TYPE = "description-type"
    DESCRIPTION_LENGTH = "description-length"
    LICENSE_TYPE = "license-type"
    COMPATIBILITY_FORMAT = "compatibility-format"
    METADATA_TYPE = "metadata-type"
    METADATA_RESERVED = "metadata-reserved"
    ALLOWED_TOOLS_FORMAT = "allowed-tools-format"
    INVOCATION_TYPE = "invocation-type"
    BODY_ENCODING = "body-encoding"
    # The text and the files that it mentions; only `skillwire check` applies these rules
    LINK_MISSING = "link-missing"
    LINK_CASE = "link-case"
    FILE_UNREFERENCED = "file-unreferenced"
    BODY_LENGTH = "body-length"
    SCRIPT_MODE = "script-mode"
    # Files and folders
    SKILL_FILE_NAME = "skill-file-name"
    SKILL_UNREADABLE = "skill-unreadable"
    SKILL_FILES = "skill-files"
    SKILL_BYTES = "skill-bytes"
    LIVE_NAME = "live-name"
    FILE_UNREADABLE = "file-unreadable"
    FILE_SPECIAL = "file-special"
    FILE_NAME = "file-name"
    FILE_NAME_CLASH = "file-name-clash"
    LINK_OUTSIDE = "link-outside"
    LINK_LOOP = "link-loop"
    FOLDER_UNREADABLE = "folder-unreadable"
    FOLDER_DEPTH = "folder-depth"
    FOLDER_ENTRIES = "folder-entries"
    IGNORE_FILE = "ignore-file"
    # Several skills together
    NAME_SHARED = "name-shared"
    URI_TAKEN = "uri-taken"
    TEMPLATE_OVERLAP = "template-overlap"
    NOT_LISTED = "not-listed"
    NAME_TAKEN = "name-taken"
    # A whole source
    SOURCE_FAILED = "source-failed"
    SOURCE_WAITING = "source-waiting"
    SOURCE_STALE = "source-stale"
    SOURCE_PARTIAL = "source-partial"
    SERVER_ENTRY = "server-entry"
    NOT_PASSED_ON = "not-passed-on"
    SERVER_LIST = "server-list"
    SERVER_CHANGED = "server-changed"
    LOGIN_REQUIRED = "login-required"
    STATE_FAILED = "state-failed"
    CONFIG_FAILED = "config-failed"
    WATCH_POLLING = "watch-polling"
    SEARCH_NOT_STORED = "search-not-stored"
    SEARCH_BY_WORDS = "search-by-words"
    # Eval cases
    EVAL_UNREADABLE = "eval-unreadable"
    EVAL_FORMAT = "eval-format"
    EVAL_DUPLICATE = "eval-duplicate"
    EVAL_SKILL = "eval-skill"
    # What a server sent: entries
    ENTRY_SHAPE = "entry-shape"
    ENTRY_URI = "entry-uri"
    ENTRY_NAME = "entry-name"
    ENTRY_DESCRIPTION = "entry-description"
    ENTRY_RESOURCES = "entry-resources"
    ENTRY_LIMITS = "entry-limits"
    ENTRY_TWICE = "entry-twice"
    ENTRY_OTHER = "entry-other"
    ENTRY_NONCONFORMING = "entry-nonconforming"
    # Lists of a server
    LIST_SHAPE = "list-shape"
    LIST_ENDLESS = "list-endless"
    OLD_DRAFT = "old-draft"
    TEMPLATE = "template"
    # Contents from a server
    READ_FAILED = "read-failed"
    READ_SHAPE = "read-shape"
    READ_BUDGET = "read-budget"
    SIZE = "size"
    DIGEST = "digest"
    FRONTMATTER = "frontmatter"
    UNLISTED = "unlisted"
    ARCHIVE = "archive"
    # Prompts and resources of a server
    SURFACE_SHAPE = "surface-shape"
    SURFACE_DIFFERS = "surface-differs"
    # The whole check of a server: it took too long, or found more than it reports
    TIMEOUT = "timeout"
    MORE = "more"
    # The repository contract; `SEVERITIES` in `contract/rules/skill.py` says which of these are errors
    CONTRACT_BLOCK_MISSING = "contract-block-missing"
    CONTRACT_BLOCK_TYPE = "contract-block-type"
    CONTRACT_BLOCK_TWICE = "contract-block-twice"
    CONTRACT_NAME_LETTER = "contract-name-letter"
    CONTRACT_NAME_RESERVED = "contract-name-reserved"
    CONTRACT_DESCRIPTION_TAGS = "contract-description-tags"
    CONTRACT_FIELD_TYPE = "contract-field-type"
    CONTRACT_TOOLS_TYPE = "contract-tools-type"
    CONTRACT_METADATA_VALUE = "contract-metadata-value"
    CONTRACT_METADATA_KEY = "contract-metadata-key"
    CONTRACT_METADATA_FILE = "contract-metadata-file"
    CONTRACT_ID_MISSING = "contract-id-missing"
    CONTRACT_ID_NAME = "contract-id-name"
    CONTRACT_ID_TAKEN = "contract-id-taken"
    CONTRACT_VERSION_MISSING = "contract-version-missing"
    CONTRACT_VERSION_TYPE = "contract-version-type"
    CONTRACT_VERSION_FORMAT = "contract-version-format"
    CONTRACT_TAGS_TYPE = "contract-tags-type"
    CONTRACT_TAG_FORMAT = "contract-tag-format"
    CONTRACT_TAG_DUPLICATE = "contract-tag-duplicate"
    CONTRACT_CAPABILITIES_MISSING = "contract-capabilities-missing"
    CONTRACT_CAPABILITIES_TYPE = "contract-capabilities-type"
    CONTRACT_CAPABILITY_DOCUMENT = "contract-capability-document"
    CONTRACT_CAPABILITY_FOREIGN = "contract-capability-foreign"
    CONTRACT_CAPABILITY_UNSERVED = "contract-capability-unserved"
    CONTRACT_CAPABILITY_UNDECLARED = "contract-capability-undeclared"
    CONTRACT_DEPENDENCIES_TYPE = "contract-dependencies-type"
    CONTRACT_DEPENDENCY_ID = "contract-dependency-id"
    CONTRACT_DEPENDENCY_UNKNOWN = "contract-dependency-unknown"
    CONTRACT_DEPENDENCY_SELF = "contract-dependency-self"
    CONTRACT_DEPENDENCY_CYCLE = "contract-dependency-cycle"
    CONTRACT_DEPENDENCY_DUPLICATE = "contract-dependency-duplicate"
    CONTRACT_DEPENDENCY_BROKEN = "contract-dependency-broken"
    CONTRACT_REFERENCES_TYPE = "contract-references-type"
    CONTRACT_REFERENCE_ID = "contract-reference-id"
    CONTRACT_REFERENCE_PATH = "contract-reference-path"
    CONTRACT_REFERENCE_MISSING = "contract-reference-missing"
    CONTRACT_REFERENCE_SHARED = "contract-reference-shared"
    CONTRACT_REFERENCE_FIELD = "contract-reference-field"
    CONTRACT_REFERENCE_EMPTY = "contract-reference-empty"
    CONTRACT_REFERENCE_ALIAS = "contract-reference-alias"
    CONTRACT_ICONS = "contract-icons"
    CONTRACT_NUMBER_SIZE = "contract-number-size"
    CONTRACT_PROJECTION_DROPPED = "contract-projection-dropped"


SERVER_RULES = frozenset(
    map(
        Rule,
        (
            "entry-shape",
            "entry-uri",
            "entry-name",
            "entry-description",
            "entry-resources",
            "entry-limits",
            "entry-twice",
            "entry-other",
            "entry-nonconforming",
            "list-shape",
            "list-endless",
            "old-draft",
            "template",
            "read-failed",
            "read-shape",
            "read-budget",
            "size",
            "digest",
            "frontmatter",
            "unlisted",
            "archive",
            "surface-shape",
            "surface-differs",
            "timeout",
            "more",
        ),
    )
)
"""Rules for data from servers. `skillwire verify` and hosts report violations."""


LAST_GOOD_SERVED = "the last good version is served"
"""The end of the message about a skill that an edit broke, so that it is served as it was before."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with a skill, source or server: where it is, what is wrong, and how to fix it."""

    path: str
    """The path relative to the root of the source, so that it reveals nothing about the machine.

    It is `.` for a whole source. For a rule in `SERVER_RULES`, it is the URI, prompt or method with the
    problem, as the server wrote it. It is empty or the server's label for a whole server.
    """
    rule: Rule
    severity: Severity
    message: str
    hint: str = ""
    field: str = ""
    line: int | None = None
    label: str = ""
    """The label of the server with the problem, if a host uses several servers."""

    def to_json(self) -> dict[str, str | int | None]:
        """Return the problem as commands print it in JSON, without `label` and with a fixed order of keys."""
        return {
            "path": escape_invisible(self.path),  # file names may contain bytes that JSON cannot represent
            "line": self.line,
            "field": self.field,
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        label = f"{quoted(self.label)}: " if self.label else ""
        line = "" if self.line is None else f":{self.line}"
        # Text from a server must not look like part of the sentence.
        path = quote_if_needed(self.path) if self.rule in SERVER_RULES else escape_invisible(self.path)
        field = f" {self.field}:" if self.field else ""
        # The message about a whole source names the source.
        place = f"{path}{line}:{field} " if self.path not in {"", "."} else ""
        return f"{label}{place}{escape_invisible(self.message)}"
