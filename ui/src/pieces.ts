// Elements that several views share.

import type { Child } from "./dom";
import { h, icon } from "./dom";
import { skillPath } from "./format";
import { icons } from "./icons";
import type { Problem } from "./backend";
import type { Router } from "./router";

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
  let busy = false; // not `disabled`, which would take the focus away
  const input = h("input", {
    type: "checkbox",
    role: "switch",
    "data-key": `switch-${name}`,
    checked: on,
    disabled: change === null,
    onclick: (event: Event) => busy && event.preventDefault(),
    onchange: () => {
      busy = true;
      void change?.(input.checked).catch(() => {
        input.checked = on;
      }).finally(() => {
        busy = false;
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

/** Return one problem. Its path is a link to the skill, if it is about a skill that is served. */
export function problemItem(problem: Problem, router: Router | null = null): HTMLElement {
  const line = problem.line === null ? "" : `:${problem.line}`;
  const path = `${problem.path}${line}`;
  return h(
    "li",
    { class: `problem ${problem.severity}` },
    icon(problem.severity === "error" ? icons.error : icons.warning),
    h(
      "div",
      null,
      h(
        "p",
        { class: "what", dir: "auto" },
        h("span", { class: "sr" }, `${problem.severity}: `),
        problem.field && h("code", null, problem.field),
        problem.field && " ",
        literals(problem.message),
      ),
      problem.hint && h("p", { class: "hint", dir: "auto" }, literals(problem.hint)),
      h(
        "p",
        { class: "where" },
        router && problem.uri ? skillLink(problem.uri, path, router) : h("span", null, path),
        h("span", null, problem.rule),
      ),
    ),
  );
}

function skillLink(uri: string, text: string, router: Router): HTMLElement {
  const place = { view: "skills", skill: uri } as const;
  return h(
    "a",
    {
      href: router.address(place) ?? "#",
      "aria-label": `${text}: show the skill ${skillPath(uri)}`,
      onclick: (event: MouseEvent) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        router.go(place);
      },
    },
    text,
  );
}

const LITERAL = /(?<!`)(`+)(?!`)([^]*?[^`])\1(?!`)/g;
const MAX_LITERALS = 500;
/** Maximum number of code spans in one text. The rest is shown with its backticks. */

/** Show text in backticks as code, as in Markdown. Backticks without a partner stay as they are. */
export function literals(text: string): Child[] {
  const shown: Child[] = [];
  let from = 0;
  for (const found of text.matchAll(LITERAL)) {
    if (shown.length >= 2 * MAX_LITERALS) break;
    const inner = found[2]!;
    const padded = inner.length > 2 && inner.startsWith(" ") && inner.endsWith(" ") && inner.trim() !== "";
    shown.push(text.slice(from, found.index), h("code", null, padded ? inner.slice(1, -1) : inner));
    from = found.index + found[0].length;
  }
  return [...shown, text.slice(from)];
}
