"""Build one catalog from the scans of all sources, or update the last catalog after a change."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillwire.core.problem import Problem
from skillwire.core.record import SkillRecord
from skillwire.core.shared_mapping import SharedMapping
from skillwire.core.template import SkillTemplate
from skillwire.library.catalog import Catalog
from skillwire.library.catalog_problems import (
    LabelledScan,
    nonconforming,
    shared_name_problems,
    taken_problem,
)
from skillwire.library.namespace import Namespace, PathUpdate
from skillwire.library.skill_table import SkillTable
from skillwire.library.template_overlaps import template_overlaps
from skillwire.sources.base import Scan, ScanDelta

__all__ = ["LabelledScan", "compose", "update_catalog"]


def compose(scans: Sequence[LabelledScan], *, movable: bool = True) -> Catalog:
    """Build a catalog from all scans.

    Skills conflict if they have the same path, or if one contains the other and does not list its files. The
    earlier skill keeps its path. The other skill is published below its source's label. It is left out with a
    problem if it comes from the first source, if it conflicts there as well, or with `movable=False`.
    """
    namespace, several = Namespace(), len(scans) > 1
    taken: list[Problem] = []
    sources: list[Sequence[SkillRecord]] = []
    has_path_conflicts = False
    for place, labelled in enumerate(scans):
        served: list[SkillRecord] = []
        has_conflicts = False
        for entry in labelled.scan.entries:
            shown = entry
            other = namespace.claim(entry)
            has_conflicts = has_conflicts or other is not None
            if other is not None and place > 0 and movable:
                other = namespace.claim(shown := entry.below(labelled.label))
            if other is None:
                served.append(shown)
            else:
                taken.append(taken_problem(entry, other, several=several))
        sources.append(served if has_conflicts else labelled.scan.entries)
        has_path_conflicts = has_path_conflicts or has_conflicts
    entries = SkillTable(sources)
    return Catalog(
        entries=entries,
        above=namespace.above(),
        scans=tuple(scans),
        taken=tuple(taken),
        shared_names=_shared_names(entries, entries.shared_names(), several=several),
        nonconforming=SharedMapping(nonconforming(entries.values(), several=several)),
        templates=_merge_templates(scans),
        template_overlaps=template_overlaps([labelled.scan.templates for labelled in scans]),
        has_path_conflicts=has_path_conflicts,
    )


def update_catalog(
    catalog: Catalog, before: Scan, after: Scan, scans: Sequence[LabelledScan]
) -> Catalog | None:
    """Update a catalog to `scans`. Return None if the catalog must be built from scratch.

    The scan `before` was replaced by `after`, which is already in `scans`. An update is possible only if no
    paths conflict before or after it, and if no added, removed or changed skill contains, or is inside, an
    unchanged skill. Otherwise, the change may affect other skills.

    The cost follows the change: the new catalog shares everything else with the old one.
    """
    if catalog.has_path_conflicts or len(scans) != len(catalog.scans):
        return None
    delta = after.delta_since(before)
    paths = PathUpdate(catalog.entries, catalog.above)
    if not paths.release(delta.gone) or not paths.claim(delta.new):
        return None
    several = len(scans) > 1
    entries = catalog.entries.updated([each.scan.entries for each in scans], delta.gone, delta.new)
    has_new_templates = before.templates != after.templates
    return replace(
        catalog,
        entries=entries,
        above=paths.above(),
        scans=tuple(scans),
        shared_names=_update_shared_names(catalog, entries, delta, several=several),
        nonconforming=catalog.nonconforming.updated(
            [entry.uri for entry in delta.gone], nonconforming(delta.new, several=several)
        ),
        templates=_merge_templates(scans) if has_new_templates else catalog.templates,
        template_overlaps=template_overlaps([labelled.scan.templates for labelled in scans])
        if has_new_templates
        else catalog.template_overlaps,
    )


def _merge_templates(scans: Sequence[LabelledScan]) -> tuple[SkillTemplate, ...]:
    """Return the templates of all sources in order. If two match a URI, the catalog uses the first one."""
    return tuple(template for labelled in scans for template in labelled.scan.templates)


def _shared_names(entries: SkillTable, names: Iterable[str], *, several: bool) -> SharedMapping[str, Problem]:
    shared: dict[str, Problem] = {}
    for name in names:
        shared |= shared_name_problems(entries.named(name), several=several)
    return SharedMapping(shared)


def _update_shared_names(
    catalog: Catalog, entries: SkillTable, delta: ScanDelta, *, several: bool
) -> SharedMapping[str, Problem]:
    """Determine anew the problems of the names of added, removed and changed skills."""
    names = {entry.name for entry in (*delta.gone, *delta.new)}
    before = [entry.uri for name in names if len(same := catalog.entries.named(name)) > 1 for entry in same]
    return catalog.shared_names.updated(before, _shared_names(entries, names, several=several))
