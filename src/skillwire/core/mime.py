"""Determine the MIME type of a file, and whether it is text.

MIME types come from Skillwire's own table. The system's table differs between machines, and is wrong for
code (S6).
"""

MARKDOWN = "text/markdown"
DIRECTORY = "inode/directory"
JSON = "application/json"
PLAIN_TEXT = "text/plain"
BINARY = "application/octet-stream"

_BY_SUFFIX = {
    # text that people write
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".mdx": "text/mdx",
    ".txt": PLAIN_TEXT,
    ".rst": "text/x-rst",
    ".adoc": "text/asciidoc",
    ".tex": "application/x-tex",
    ".html": "text/html",
    ".htm": "text/html",
    ".css": "text/css",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".ics": "text/calendar",
    ".log": PLAIN_TEXT,
    # data
    ".json": JSON,
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
    ".geojson": "application/geo+json",
    ".ipynb": "application/x-ipynb+json",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".xml": "application/xml",
    ".xsd": "application/xml",
    ".xsl": "application/xslt+xml",
    ".sql": "application/sql",
    ".graphql": "application/graphql",
    ".proto": "text/x-protobuf",
    ".sqlite": "application/vnd.sqlite3",
    ".parquet": "application/vnd.apache.parquet",
    # source code
    ".py": "text/x-python",
    ".pyi": "text/x-python",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".cjs": "text/javascript",
    ".jsx": "text/jsx",
    ".ts": "text/typescript",
    ".mts": "text/typescript",
    ".cts": "text/typescript",
    ".tsx": "text/tsx",
    ".sh": "application/x-sh",
    ".bash": "application/x-sh",
    ".zsh": "application/x-sh",
    ".ps1": "text/x-powershell",
    ".bat": "text/x-bat",
    ".rb": "text/x-ruby",
    ".pl": "text/x-perl",
    ".php": "text/x-php",
    ".lua": "text/x-lua",
    ".r": "text/x-r",
    ".go": "text/x-go",
    ".rs": "text/x-rust",
    ".java": "text/x-java",
    ".kt": "text/x-kotlin",
    ".scala": "text/x-scala",
    ".swift": "text/x-swift",
    ".cs": "text/x-csharp",
    ".c": "text/x-c",
    ".h": "text/x-c",
    ".cc": "text/x-c++",
    ".cpp": "text/x-c++",
    ".hpp": "text/x-c++",
    ".diff": "text/x-diff",
    ".patch": "text/x-diff",
    # images, audio, video, fonts
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".ico": "image/vnd.microsoft.icon",
    ".bmp": "image/bmp",
    ".tiff": "image/tiff",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".mov": "video/quicktime",
    ".ttf": "font/ttf",
    ".otf": "font/otf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    # documents and archives
    ".pdf": "application/pdf",
    ".epub": "application/epub+zip",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".zip": "application/zip",
    ".gz": "application/gzip",
    ".tgz": "application/gzip",
    ".tar": "application/x-tar",
    ".bz2": "application/x-bzip2",
    ".xz": "application/x-xz",
    ".7z": "application/x-7z-compressed",
    ".wasm": "application/wasm",
}


_TEXT_APPLICATIONS = frozenset(
    {
        JSON,
        "application/geo+json",
        "application/graphql",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-ipynb+json",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-tex",
        "application/xml",
        "application/xslt+xml",
        "application/yaml",
    }
)


def is_text(content: bytes) -> bool:
    """Return whether `content` is valid UTF-8 without NUL. Only such content is sent as text (S6)."""
    return decode_text(content) is not None


def decode_text(content: bytes) -> str | None:
    """Return `content` as text, or None if `is_text` is false for it."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def mime_type(path: str, *, text: bool) -> str:
    """Return the MIME type of the file at `path`.

    If its suffix is unknown, return `text/plain` if `text` is set, else `application/octet-stream`.
    """
    return mime_type_from_name(path) or (PLAIN_TEXT if text else BINARY)


def mime_type_from_name(path: str) -> str | None:
    """Return the MIME type for the suffix of `path`, or None if the suffix is missing or unknown."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(f".{suffix.lower()}") if stem and dot else None


def is_text_type(kind: str) -> bool:
    """Return whether files of this MIME type are text that a model can read."""
    return kind.startswith("text/") or kind in _TEXT_APPLICATIONS
