// The problems view: all problems with hints, filtered by severity, rule and source, and grouped by one of them.

import type { Config, Problem, ProblemGroup } from "./backend";
import type { Child } from "./dom";
import { fill, h, redraw } from "./dom";
import { count, number } from "./format";
import { icons } from "./icons";
import { badge, empty, problemItem } from "./pieces";
import type { Filter, Router } from "./router";
import { EVERYTHING } from "./router";
import type { State } from "./store";

type Field = keyof Filter;
const FIELDS: Array<[Field, string]> = [
  ["severity", "Severity"],
  ["rule", "Rule"],
  ["source", "Source"],
];
const SHOWN = 20;
/** Number of problems that a group shows at first. */
const NO_SOURCE = "no source";

export class ProblemsView {
  private readonly summary = h("p", { class: "note", role: "status", "aria-live": "polite" });
  private readonly bar = h("form", { class: "filters", "aria-label": "Filter", hidden: true });
  private readonly list = h("div", { class: "groups" });
  readonly element = h(
    "div",
    { class: "sheet", role: "region", "aria-label": "Problems", tabindex: "0" },
    h("header", { class: "sheet-head" }, h("h1", null, "Problems"), this.summary),
    this.bar,
    this.list,
  );
  private readonly selects = new Map<Field | "group", HTMLSelectElement>();
  private readonly opened = new Set<string>();
  private grouping: Field = "rule";
  private state: State | null = null;
  private drawn = "";

  constructor(private readonly router: Router) {
    this.bar.addEventListener("submit", (event) => event.preventDefault());
    for (const [field, name] of FIELDS) this.bar.append(this.select(field, name, () => this.choose(field)));
    this.bar.append(this.select("group", "Group by", () => this.group()));
    fill(this.selects.get("group")!, FIELDS.map(([field, name]) => h("option", { value: field, selected: field === "rule" }, name)));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.isFiltered()) return;
      event.preventDefault();
      this.router.go({ view: "problems", skill: "", filter: EVERYTHING });
    });
  }

  update(state: State): void {
    const { config, problems } = (this.state = state);
    if (!config || this.router.place.view !== "problems") return;
    const drawn = JSON.stringify([config.problemGroups, problems, this.filter(), this.grouping]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    redraw(this.element, () => this.draw(config, problems));
  }

  /** Show the problems that the address asks for. */
  place(): void {
    if (this.state) this.update(this.state);
  }

  private filter(): Filter {
    return this.router.place.filter ?? EVERYTHING;
  }

  private isFiltered(): boolean {
    return Object.values(this.filter()).some(Boolean);
  }

  private select(field: Field | "group", name: string, changed: () => void): HTMLElement {
    const select = h("select", { id: `filter-${field}`, onchange: changed });
    this.selects.set(field, select);
    return h("div", { class: "field" }, h("label", { for: `filter-${field}` }, name), select);
  }

  private choose(field: Field): void {
    this.router.go({ view: "problems", skill: "", filter: { ...this.filter(), [field]: this.selects.get(field)!.value } });
  }

  private group(): void {
    this.grouping = this.selects.get("group")!.value as Field;
    this.place();
  }

  private draw(config: Config, problems: Problem[] | null): void {
    const filter = this.filter();
    const all = config.errors + config.warnings;
    const groups = config.problemGroups.filter((each) => matches(each, filter));
    const found = sum(groups);
    this.bar.hidden = !all;
    this.options(config, filter);
    this.summary.textContent = !all ? "" : this.isFiltered() ? `${number(found)} of ${count(all, "problem")}` : summary(config);
    const clear = () => this.router.go({ view: "problems", skill: "", filter: EVERYTHING });
    if (!all) fill(this.list, empty(icons.check, "No problems", h("p", null, "Every skill that was found is served.")));
    else if (!found) {
      fill(this.list, empty(icons.search, "Nothing matches", h("button", { onclick: clear, "data-key": "clear" }, "Clear the filter")));
    } else {
      fill(
        this.list,
        this.isFiltered() &&
          h("button", { class: "quiet small clear", onclick: clear, "data-key": "clear" }, "Clear the filter"),
        problems && this.sections(problems.filter((each) => matches(each, filter)), groups),
      );
    }
  }

  /** Fill the filters. Each choice shows how many problems it leaves, with the other filters as they are. */
  private options(config: Config, filter: Filter): void {
    for (const [field] of FIELDS) {
      const others = { ...filter, [field]: "" };
      const groups = config.problemGroups.filter((each) => matches(each, others));
      const values = tally(groups, field);
      const chosen = filter[field];
      if (chosen && !values.some(([value]) => value === chosen)) values.push([chosen, 0]);
      const select = this.selects.get(field)!;
      fill(
        select,
        h("option", { value: "" }, `All (${number(sum(groups))})`),
        values.map(([value, amount]) => h("option", { value }, `${value} (${number(amount)})`)),
      );
      select.value = chosen;
    }
  }

  private sections(problems: Problem[], groups: ProblemGroup[]): Child[] {
    return tally(groups, this.grouping).map(([value, amount]) => {
      const inside = problems.filter((each) => valueOf(each, this.grouping) === value);
      const errors = sum(groups.filter((each) => valueOf(each, this.grouping) === value && each.severity === "error"));
      return this.section(value, inside, amount, errors);
    });
  }

  private section(value: string, problems: Problem[], amount: number, errors: number): HTMLElement {
    const key = `${this.grouping}:${value}`;
    const sorted = problems.sort((one, other) => rank(one.severity) - rank(other.severity));
    const items = h("ul", { class: "problems" });
    const more = h("button", { class: "small", "data-key": `more-${key}` });
    const show = (limit: number) => {
      fill(items, sorted.slice(0, limit).map((each) => problemItem(each, this.router)));
      more.hidden = limit >= sorted.length;
      more.textContent = `Show all ${number(sorted.length)}`;
    };
    more.addEventListener("click", () => {
      this.opened.add(key);
      show(Infinity);
      items.querySelectorAll<HTMLElement>("a")[SHOWN]?.focus({ preventScroll: true });
    });
    show(this.opened.has(key) ? Infinity : SHOWN);
    const rest = amount - problems.length;
    const heading = `group-${key}`;
    return h(
      "section",
      { class: "card group", "aria-labelledby": heading },
      h(
        "header",
        null,
        h("h2", { id: heading }, value),
        errors > 0 && badge(count(errors, "error"), "bad"),
        amount > errors && badge(count(amount - errors, "warning"), "warn"),
      ),
      items,
      more,
      rest > 0 && h("p", { class: "quiet-text" }, `And ${number(rest)} more: `, h("code", null, "skillwire check"), " lists all."),
    );
  }
}

/** Return the numbers of problems. What a problem causes depends on its rule, so its own text says that. */
function summary({ errors, warnings, withheld }: Config): string {
  const others = warnings - withheld;
  const parts = [
    errors > 0 && count(errors, "error"),
    others > 0 && count(others, "warning"),
    withheld > 0 && `${count(withheld, "skill")} not approved`,
  ];
  return parts.filter(Boolean).join(", ");
}

function valueOf(problem: Problem | ProblemGroup, field: Field): string {
  return problem[field] || NO_SOURCE;
}

function matches(problem: Problem | ProblemGroup, filter: Filter): boolean {
  return FIELDS.every(([field]) => !filter[field] || valueOf(problem, field) === filter[field]);
}

function sum(groups: ProblemGroup[]): number {
  return groups.reduce((total, each) => total + each.count, 0);
}

/** Return the values of a field with their numbers of problems: errors first, then the most frequent. */
function tally(groups: ProblemGroup[], field: Field): Array<[string, number]> {
  const totals = new Map<string, [number, number]>();
  for (const each of groups) {
    const [errors, all] = totals.get(valueOf(each, field)) ?? [0, 0];
    totals.set(valueOf(each, field), [errors + (each.severity === "error" ? each.count : 0), all + each.count]);
  }
  return [...totals]
    .sort(([one, [few, less]], [other, [many, more]]) => Number(many > 0) - Number(few > 0) || more - less || (one < other ? -1 : 1))
    .map(([value, [, all]]) => [value, all]);
}

function rank(severity: string): number {
  return severity === "error" ? 0 : 1;
}
