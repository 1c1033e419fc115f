"""Migration 1: skills, their versions and blobs, pointers of channels, and the history."""

STATEMENTS = (
    """CREATE TABLE catalogue (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        instance TEXT NOT NULL,
        revision BIGINT NOT NULL DEFAULT 0 CHECK (revision >= 0))""",
    """CREATE TABLE skill (
        id {identity},
        catalogue INTEGER NOT NULL REFERENCES catalogue,
        path {text} NOT NULL,
        path_key {text} NOT NULL,
        labels TEXT NOT NULL DEFAULT '[]',
        UNIQUE (catalogue, path),
        UNIQUE (catalogue, path_key))""",
    """CREATE TABLE blob (
        digest {binary} PRIMARY KEY CHECK (length(digest) = 32),
        size BIGINT NOT NULL,
        content {binary} NOT NULL,
        CHECK (length(content) = size))""",
    """CREATE TABLE version (
        skill BIGINT NOT NULL REFERENCES skill,
        version {text} NOT NULL,
        digest {binary} NOT NULL CHECK (length(digest) = 32),
        manifest {binary} NOT NULL,
        published_at TEXT NOT NULL,
        published_by TEXT NOT NULL,
        provenance TEXT NOT NULL DEFAULT '{{}}',
        yanked_at TEXT,
        yanked_why TEXT,
        PRIMARY KEY (skill, version))""",
    """CREATE TABLE version_blob (
        skill BIGINT NOT NULL,
        version {text} NOT NULL,
        digest {binary} NOT NULL REFERENCES blob,
        PRIMARY KEY (skill, version, digest),
        FOREIGN KEY (skill, version) REFERENCES version (skill, version)){compact}""",
    """CREATE TABLE pointer (
        channel {text} NOT NULL,
        skill BIGINT NOT NULL REFERENCES skill,
        version {text} NOT NULL,
        revision BIGINT NOT NULL,
        PRIMARY KEY (channel, skill),
        FOREIGN KEY (skill, version) REFERENCES version (skill, version)){compact}""",
    """CREATE TABLE change (
        catalogue INTEGER NOT NULL REFERENCES catalogue,
        revision BIGINT NOT NULL,
        skill BIGINT NOT NULL REFERENCES skill,
        channel {text} NOT NULL,
        before {text},
        after {text},
        PRIMARY KEY (catalogue, revision, skill, channel)){compact}""",
    """CREATE TABLE audit (
        id {identity},
        at TEXT NOT NULL,
        iss TEXT NOT NULL,
        sub TEXT NOT NULL,
        client TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        outcome TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '{{}}',
        revision BIGINT)""",
    "CREATE INDEX audit_revision ON audit (revision)",
    "CREATE INDEX version_blob_digest ON version_blob (digest)",
)
"""What differs between databases is named: `{identity}`, `{text}`, `{binary}` and `{compact}`."""
