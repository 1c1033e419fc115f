// Buttons that copy a text.

import { Failure } from "./backend";
import { h, icon } from "./dom";
import { icons } from "./icons";
import type { Notices } from "./notices";

/** Return a button that copies a text. `what` names the text for screen readers; `shown` is visible, if given. */
export function copyButton(text: string, what: string, notices: Notices, shown = ""): HTMLElement {
  const copy = () => {
    void navigator.clipboard
      .writeText(text)
      .then(() => notices.say("Copied"))
      .catch(() => notices.fail(new Failure("The browser does not allow copying", "select the text, and copy it yourself")));
  };
  return h(
    "button",
    { class: shown ? "small" : "quiet square", "aria-label": shown ? null : what, "data-key": what, onclick: copy },
    icon(icons.copy),
    shown,
    shown && h("span", { class: "sr" }, ` ${what.replace(/^Copy /, "")}`),
  );
}
