"""`skillwire.serve`: serve skills from a Python program, over stdio or HTTP."""

import os
from collections.abc import Sequence

from skillwire import __version__
from skillwire.app.areas import with_area_additions
from skillwire.app.collect import Servable, collect_skills
from skillwire.app.service import Service, program_endpoint, serve_service
from skillwire.app.skill_server import SkillServer
from skillwire.authoring.skill import caller_folder
from skillwire.config.settings import limits_from, max_file_bytes_from
from skillwire.errors import UsageError
from skillwire.protocol.messages import LIVE_TTL_MS, STATIC_TTL_MS, Freshness
from skillwire.server.serve_options import NAME, ServeOptions, chosen_options


def serve(
    *skills: Servable | SkillServer,
    http: str | None = None,
    name: str = NAME,
    version: str = __version__,
    instructions: str | None = None,
    options: ServeOptions | None = None,
    every_client: bool | None = None,
    static: bool = False,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
    well_known: bool = True,
    cache: bool = True,
) -> None:
    """Serve `skills` over stdio or, with `http`, over HTTP.

    Returns when the client over stdio disconnects, or when a signal to stop arrives.

    `skills` are skills, collections, a `SkillServer`, sources, or folders relative to the calling file.
    `http` is `[HOST:]PORT`. If you set a `token`, HTTP clients must send it. A token is required if other
    machines can reach the address. With `static`, the list of skills stays the same. `SKILLS_DIR` and the
    configuration file are ignored. The limits in environment variables apply.

    While it serves, this function controls the signals, logging and event loop of the process. Raises
    `UsageError` for wrong arguments, and `InvalidValueError` or `ConflictError` for invalid skills.
    """
    base = caller_folder()
    if not skills:
        hint = 'pass a folder, as in `skillwire.serve("skills")`, or skills'
        raise UsageError("there is nothing to serve", hint=hint)
    parts: list[Servable] = [each.skills if isinstance(each, SkillServer) else each for each in skills]
    collected = collect_skills(parts, label=name, base=base, limits=limits_from(os.environ), frozen=static)
    if options is None:
        options = ServeOptions(max_file_bytes=max_file_bytes_from(os.environ))
    endpoint = program_endpoint(http, token, allow_hosts, allow_origins)
    service = Service.of(
        collected.library,
        with_area_additions(chosen_options(options, every_client=every_client)),
        Freshness(STATIC_TTL_MS if static else LIVE_TTL_MS, private=token is not None),
        name=name,
        version=version,
        instructions=instructions,
        prompts=collected.prompts,
        cache=cache,
        well_known=well_known,
    )
    serve_service(service, endpoint)
