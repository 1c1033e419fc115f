// The sources view: every source with its state; adding, fetching and removing sources; settings.

import type { Config, Source } from "./backend";
import { Failure } from "./backend";
import type { Child } from "./dom";
import { fill, h, icon, redraw } from "./dom";
import { ago, count } from "./format";
import { icons } from "./icons";
import type { Notices } from "./notices";
import { badge, empty, literals, toggle } from "./pieces";
import type { Router } from "./router";
import { EVERYTHING } from "./router";
import type { State, Store } from "./store";

const STATES: Record<Source["state"], [string, string]> = {
  ready: ["Ready", "good"],
  waiting: ["Waiting", "warn"],
  stale: ["Last good copy", "warn"],
  failed: ["Failed", "bad"],
};
const GIVEN: Record<string, string> = {
  configuration: "from the configuration",
  environment: "from the environment",
  "command line": "from the command line",
  "running programs": "from running programs",
  trusted: "trusted: its skills need no approval",
  approval: "its skills need approval",
};

export class SourcesView {
  private readonly cards = h("ul", { class: "cards" });
  private readonly settings = h("section", { class: "settings", "aria-label": "Settings" });
  private readonly adding: HTMLElement;
  private readonly note = h("p", { class: "note" });
  private readonly title = h("h1", null, "Sources");
  readonly element: HTMLElement;
  private shown = "";
  private settled = "";

  constructor(
    private readonly store: Store,
    private readonly notices: Notices,
    private readonly router: Router,
  ) {
    this.adding = this.form();
    this.element = h(
      "div",
      { class: "sheet sources", role: "region", "aria-label": "Sources", tabindex: "0" },
      h("header", { class: "sheet-head" }, this.title, this.note),
      this.adding,
      this.cards,
      this.settings,
    );
  }

  update({ config }: State): void {
    if (!config) return;
    this.adding.hidden = !config.editable;
    fill(
      this.note,
      config.editable
        ? config.configFile
          ? ["Changes are saved in ", h("code", null, config.configFile), "."]
          : "Changes are saved in the configuration file."
        : ["To change anything here, ", literals(config.unlock), "."],
    );
    this.title.textContent = this.element.ariaLabel = config.bridge ? "Servers" : "Sources";
    this.settings.hidden = config.bridge;
    const shown = JSON.stringify([config.sources, config.editable, config.bridge]);
    if (shown !== this.shown) {
      this.shown = shown;
      redraw(this.cards, () => this.drawCards(config));
    }
    const settled = JSON.stringify([config.static, config.staticFixed, config.allowedOrigins, config.editable]);
    if (settled !== this.settled) {
      this.settled = settled;
      redraw(this.settings, () => fill(this.settings, this.allSettings(config)));
    }
  }

  private drawCards(config: Config): void {
    fill(
      this.cards,
      config.sources.length
        ? config.sources.map((source) => this.card(source, config.editable))
        : h("li", { class: "plain" }, empty(icons.folder, "No sources yet", h("p", null, "Nothing is served."))),
    );
  }

  /** Return a link to the problems of a source. */
  private problems(source: Source, severity: string, text: string, tone: string, rule = ""): HTMLElement {
    const place = { view: "problems", skill: "", filter: { ...EVERYTHING, severity, rule, source: source.label } } as const;
    return h(
      "a",
      {
        class: `badge ${tone}`,
        href: this.router.address(place) ?? "#",
        "data-key": `${severity}${rule}-${source.label}`,
        onclick: (event: MouseEvent) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          this.router.go(place);
        },
      },
      text,
    );
  }

  private card(source: Source, editable: boolean): HTMLElement {
    const [state, tone] = STATES[source.state];
    const wrong: Child[] = [
      source.errors > 0 && this.problems(source, "error", count(source.errors, "error"), "bad"),
      source.warnings > 0 && this.problems(source, "warning", count(source.warnings, "warning"), "warn"),
      source.withheld > 0 &&
        this.problems(source, "", `${count(source.withheld, "skill")} not approved`, "warn", "not-approved"),
    ];
    const fetched = source.fetched && h("span", { title: source.fetched }, `fetched ${ago(source.fetched)}`);
    return h(
      "li",
      { class: "card source" },
      icon(icons[source.kind as keyof typeof icons] ?? icons.folder, "icon kind"),
      h(
        "div",
        { class: "body" },
        h("div", { class: "title" }, h("h2", null, source.label), badge(state, tone)),
        source.place && h("p", { class: "place" }, h("code", null, source.place)),
        h(
          "p",
          { class: "meta" },
          h("span", null, count(source.skills, "skill")),
          h("span", null, GIVEN[source.givenBy] ?? source.givenBy),
          fetched,
          wrong,
        ),
        source.reason &&
          h("p", { class: "reason" }, literals(source.reason), source.hint && h("small", null, literals(source.hint))),
      ),
      editable && source.kind !== "live" && this.actions(source),
    );
  }

  private actions(source: Source): HTMLElement {
    const actions = h("div", { class: "actions" });
    const sync = h(
      "button",
      {
        class: "quiet",
        "data-key": `sync-${source.label}`,
        "aria-label": `Sync ${source.label} now`,
        onclick: () => this.work(sync, () => this.store.change("skill-config-sync-source", { label: source.label }), "Synced"),
      },
      icon(icons.sync),
      "Sync",
    );
    const remove = h(
      "button",
      {
        class: "quiet",
        "data-key": `remove-${source.label}`,
        "aria-label": `Remove ${source.label}`,
        onclick: () => this.ask(actions, source, () => fill(actions, sync, remove)),
      },
      icon(icons.remove),
      "Remove",
    );
    fill(actions, sync, source.removable && remove);
    return actions;
  }

  private ask(actions: HTMLElement, source: Source, back: () => void): void {
    const yes = h(
      "button",
      {
        class: "danger",
        onclick: () =>
          this.work(yes, () => this.store.change("skill-config-remove-source", { label: source.label }), "Removed").then(() =>
            this.element.contains(document.activeElement) ? undefined : this.element.focus(),
          ),
      },
      "Remove source",
    );
    const cancel = () => {
      actions.removeEventListener("keydown", escaped);
      back();
      actions.querySelector<HTMLElement>(`[data-key="${CSS.escape(`remove-${source.label}`)}"]`)?.focus();
    };
    const escaped = (event: KeyboardEvent) => event.key === "Escape" && cancel();
    actions.addEventListener("keydown", escaped);
    fill(actions, h("span", { class: "question" }, `Stop serving ${source.label}?`), yes, h("button", { class: "quiet", onclick: cancel }, "Cancel"));
    yes.focus();
  }

  private form(): HTMLElement {
    const source = h("input", {
      id: "new-source",
      required: true,
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "/home/you/skills, github:owner/repo or https://example.com",
    });
    const label = h("input", { id: "new-label", autocomplete: "off", spellcheck: "false", placeholder: "chosen automatically" });
    const prefix = h("input", { id: "new-prefix", autocomplete: "off", spellcheck: "false", placeholder: "none" });
    const button = h("button", { class: "primary", type: "submit" }, icon(icons.plus), "Add");
    const add = async () => {
      const more = { ...(label.value && { label: label.value }), ...(prefix.value && { prefix: prefix.value }) };
      await this.store.change("skill-config-add-source", { source: source.value, ...more });
      source.value = label.value = prefix.value = "";
      source.focus();
    };
    return h(
      "form",
      {
        class: "card adding",
        "aria-label": "New source",
        onsubmit: (event: Event) => {
          event.preventDefault();
          void this.work(button, add, "Added");
        },
      },
      h("div", { class: "field wide" }, h("label", { for: "new-source" }, "Add a source"), source),
      h("div", { class: "field" }, h("label", { for: "new-label" }, "Label"), label),
      h("div", { class: "field" }, h("label", { for: "new-prefix" }, "Path prefix"), prefix),
      button,
    );
  }

  private allSettings(config: Config): Child[] {
    const freeze = async (on: boolean) => {
      try {
        await this.store.change("skill-config-static", { static: on });
        this.notices.say(on ? "The set of skills is frozen" : "The sources are followed again");
      } catch (error) {
        this.notices.fail(error);
        throw error;
      }
    };
    const meaning = config.staticFixed
      ? `Set on the ${config.staticFixed}. It cannot be changed here.`
      : "While this is on, no skills are added or removed. Changes to their files still take effect.";
    return [
      h("h2", null, "Settings"),
      h(
        "div",
        { class: "card" },
        toggle("Static", meaning, config.static, config.editable && !config.staticFixed ? freeze : null),
      ),
      this.origins(config),
    ];
  }

  private origins(config: Config): HTMLElement {
    const write = (origins: string[]) => this.store.change("skill-config-allowed-origins", { origins });
    const items = config.allowedOrigins.map((origin) => {
      const remove = h(
        "button",
        {
          class: "quiet square",
          "aria-label": `Stop allowing ${origin}`,
          onclick: () => this.work(remove, () => write(config.allowedOrigins.filter((each) => each !== origin)), "Saved"),
        },
        icon(icons.close),
      );
      return h("li", null, h("code", null, origin), config.editable && remove);
    });
    const field = h("input", {
      id: "new-origin",
      required: true,
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "https://cdn.example.com",
      "aria-label": "Another origin",
    });
    const button = h("button", { type: "submit" }, "Allow");
    const allow = async () => {
      await write([...config.allowedOrigins, field.value]);
    };
    return h(
      "div",
      { class: "card origins" },
      h("h3", null, "Allowed origins"),
      h("p", null, "Origins from which web sources may load files, in addition to their own."),
      items.length ? h("ul", { class: "chips" }, items) : h("p", { class: "quiet-text" }, "None."),
      config.editable &&
        h(
          "form",
          {
            class: "inline",
            "aria-label": "Allow an origin",
            onsubmit: (event: Event) => {
              event.preventDefault();
              void this.work(button, allow, "Saved");
            },
          },
          field,
          button,
        ),
    );
  }

  /** Run a task. The button is busy meanwhile, and a notice reports the outcome. */
  private async work(button: HTMLButtonElement, work: () => Promise<void>, done: string): Promise<void> {
    if (button.ariaDisabled === "true") return;
    button.ariaDisabled = "true"; // not `disabled`, which would take the focus away
    button.classList.add("busy");
    this.notices.clear();
    try {
      await work();
      this.notices.say(done);
    } catch (error) {
      this.notices.fail(error instanceof Failure ? error : new Failure(String(error)));
    } finally {
      button.ariaDisabled = null;
      button.classList.remove("busy");
    }
  }
}
