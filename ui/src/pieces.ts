// Elements that several views share.

import type { Child } from "./dom";
import { h, icon } from "./dom";
import { icons } from "./icons";
import type { Problem } from "./backend";

export function badge(text: string, tone = "", title = ""): HTMLElement {
  return h("span", { class: `badge ${tone}`, title: title || null }, text);
}

export function empty(picture: string, title: string, ...more: Child[]): HTMLElement {
  return h("div", { class: "empty" }, icon(picture, "icon large"), h("h2", null, title), ...more);
}

/** Return a switch, which is a styled checkbox, with its name and meaning beside it. */
export function toggle(
  name: string,
  meaning: string,
  on: boolean,
  change: ((on: boolean) => Promise<void>) | null,
): HTMLElement {
  const input = h("input", {
    type: "checkbox",
    role: "switch",
    checked: on,
    disabled: change === null,
    onchange: () => {
      input.disabled = true;
      void change?.(input.checked).catch(() => {
        input.checked = on;
      }).finally(() => {
        input.disabled = change === null;
      });
    },
  });
  return h(
    "label",
    { class: "switch" },
    h("span", { class: "words" }, h("strong", null, name), h("small", null, meaning)),
    input,
    h("span", { class: "track", "aria-hidden": "true" }),
  );
}

export function problemItem(problem: Problem): HTMLElement {
  const line = problem.line === null ? "" : `:${problem.line}`;
  return h(
    "li",
    { class: `problem ${problem.severity}` },
    icon(problem.severity === "error" ? icons.error : icons.warning),
    h(
      "div",
      null,
      h(
        "p",
        { class: "what" },
        h("span", { class: "sr" }, `${problem.severity}: `),
        problem.field && h("code", null, problem.field),
        problem.field && " ",
        literals(problem.message),
      ),
      problem.hint && h("p", { class: "hint" }, literals(problem.hint)),
      h("p", { class: "where" }, h("span", null, `${problem.path}${line}`), h("span", null, problem.rule)),
    ),
  );
}

/** Show text in backticks as code. */
export function literals(text: string): Child[] {
  return text.split("`").map((part, at) => (at % 2 ? h("code", null, part) : part));
}
