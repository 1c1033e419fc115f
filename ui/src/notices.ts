// Notices: success messages disappear after a while, errors stay until they are closed.

import { Failure } from "./backend";
import { fill, h, icon } from "./dom";
import { icons } from "./icons";
import { literals } from "./pieces";

const PASSING = 3500;

export class Notices {
  private readonly said = h("div", { class: "said", role: "status", "aria-live": "polite" });
  private readonly alerts = h("div", { class: "alerts", role: "alert" });
  readonly element = h("div", { class: "notices" }, this.alerts, this.said);
  private timer = 0;

  say(text: string): void {
    fill(this.said, h("div", { class: "notice" }, icon(icons.check), text));
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => fill(this.said), PASSING);
  }

  fail(error: unknown): void {
    const failure = error instanceof Failure ? error : new Failure(String(error));
    const notice = h(
      "div",
      { class: "notice bad" },
      icon(icons.error),
      h("div", null, h("strong", null, literals(failure.message)), failure.hint && h("p", null, literals(failure.hint))),
      h(
        "button",
        { class: "quiet square", "aria-label": "Close this message", onclick: () => notice.remove() },
        icon(icons.close),
      ),
    );
    fill(this.alerts, notice);
  }

  clear(): void {
    fill(this.alerts);
  }
}
