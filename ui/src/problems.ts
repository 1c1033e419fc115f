// The problems view: all problems with hints, errors first.

import { fill, h } from "./dom";
import { count, number } from "./format";
import { icons } from "./icons";
import { empty, problemItem } from "./pieces";
import type { State } from "./store";

export class ProblemsView {
  private readonly summary = h("p", { class: "note" });
  private readonly list = h("div");
  readonly element = h(
    "div",
    { class: "sheet" },
    h("header", { class: "sheet-head" }, h("h1", null, "Problems"), this.summary),
    this.list,
  );
  private drawn = "";

  update({ config }: State): void {
    if (!config) return;
    const drawn = JSON.stringify([config.errors, config.warnings, config.problems]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const all = config.errors + config.warnings;
    const shown = [...config.problems].sort((one, other) => rank(one.severity) - rank(other.severity));
    const rest = all - shown.length;
    this.summary.textContent = all
      ? `${count(config.errors, "error")}: not served. ${count(config.warnings, "warning")}: served anyway.`
      : "";
    fill(
      this.list,
      all
        ? h("ul", { class: "card problems" }, shown.map(problemItem))
        : empty(icons.check, "No problems", h("p", null, "Every skill that was found is served.")),
      rest > 0 && h("p", { class: "quiet-text" }, `And ${number(rest)} more: `, h("code", null, "skillwire check"), " lists all."),
    );
  }
}

function rank(severity: string): number {
  return severity === "error" ? 0 : 1;
}
