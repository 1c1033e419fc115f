// The frame around the views: the name, the links to the three views, and the state of the connection.

import type { Backend, Failure } from "./backend";
import { fill, h, icon } from "./dom";
import { number } from "./format";
import { icons } from "./icons";
import { Notices } from "./notices";
import { empty, literals } from "./pieces";
import { ConnectView } from "./connect";
import { ProblemsView } from "./problems";
import type { Router, View } from "./router";
import { SkillsView } from "./skills";
import { SourcesView } from "./sources";
import type { State } from "./store";
import { Store } from "./store";

const VIEWS: Array<[View, string]> = [
  ["skills", "Skills"],
  ["sources", "Sources"],
  ["problems", "Problems"],
  ["connect", "Connect"],
];

export class Shell {
  private readonly notices = new Notices();
  private readonly main = h("main", { id: "main", tabindex: "-1" });
  private readonly banner = h("div", { class: "banner", role: "alert", hidden: true });
  private readonly links = new Map<View, HTMLElement>();
  private readonly skills: SkillsView;
  private readonly sources: SourcesView;
  private readonly problems: ProblemsView;
  private readonly connect: ConnectView;
  readonly store: Store;
  readonly element: HTMLElement;

  constructor(backend: Backend, private readonly router: Router, locked: () => void, tools: HTMLElement[]) {
    this.store = new Store(backend, locked);
    this.skills = new SkillsView(this.store, router, this.notices);
    this.sources = new SourcesView(this.store, this.notices, router);
    this.problems = new ProblemsView(router);
    this.connect = new ConnectView(this.store, this.notices);
    const views = VIEWS.filter(([view]) => view !== "connect" || backend.connections);
    this.element = h(
      "div",
      { class: "shell" },
      h("a", { class: "skip", href: "#main", onclick: (event: Event) => this.skip(event) }, "Skip to the content"),
      h(
        "header",
        { class: "top" },
        h("span", { class: "brand" }, icon(icons.mark, "icon mark"), h("strong", null, "Skillwire")),
        h("nav", { "aria-label": "Views" }, views.map(([view, name]) => this.link(view, name))),
        h("span", { class: "tools" }, tools),
      ),
      this.banner,
      this.main,
      this.notices.element,
    );
    router.listen(() => this.draw());
    this.store.listen((state) => this.update(state));
    document.addEventListener("keydown", (event) => this.pressed(event));
    this.draw();
  }

  begin(): void {
    void this.store.load().finally(() => this.store.follow());
  }

  /** Show an error until it is closed. */
  fail(failure: Failure): void {
    this.notices.fail(failure);
  }

  /** Show the skills that contain these words. */
  search(query: string): void {
    this.router.go({ view: "skills", skill: "" });
    this.skills.search(query);
  }

  private link(view: View, name: string): HTMLElement {
    const address = this.router.address({ view, skill: "" });
    const link = h("a", {
      href: address ?? "#",
      onclick: (event: MouseEvent) => {
        if (address !== null && (event.metaKey || event.ctrlKey || event.shiftKey)) return;
        event.preventDefault();
        this.router.go({ view, skill: "" });
      },
    });
    fill(link, h("span", { class: "view-name" }, name), view !== "connect" && h("span", { class: "tally-mark" }));
    this.links.set(view, link);
    return link;
  }

  private update(state: State): void {
    const { config, failure, lost } = state;
    if (config) {
      this.mark("skills", config.skills);
      this.name("sources", config.bridge ? "Servers" : "Sources");
      this.mark("sources", config.sources.length);
      this.mark("problems", config.errors + config.warnings, config.errors > 0 ? "bad" : "warn");
    }
    const retry = () => void this.store.load();
    this.banner.hidden = !(lost || (failure && config));
    fill(
      this.banner,
      icon(icons.warning),
      h("span", null, lost ? "The connection to the server is lost. Trying again…" : literals(failure?.message ?? "")),
      h("button", { class: "small", onclick: retry }, "Try now"),
    );
    this.skills.update(state);
    this.sources.update(state);
    this.problems.update(state);
    if (!config && failure) {
      fill(
        this.main,
        empty(
          icons.error,
          failure.message,
          h("p", null, literals(failure.hint)),
          h("button", { class: "primary", onclick: retry }, "Try again"),
        ),
      );
    } else if (config && !this.main.querySelector(".view")) this.draw();
  }

  private mark(view: View, amount: number, tone = ""): void {
    const mark = this.links.get(view)!.querySelector(".tally-mark")!;
    mark.textContent = amount || view !== "problems" ? number(amount) : "";
    mark.className = `tally-mark ${amount && tone}`;
  }

  private name(view: View, name: string): void {
    const shown = this.links.get(view)!.querySelector(".view-name")!;
    if (shown.textContent === name) return;
    shown.textContent = name;
    if (this.router.place.view === view) document.title = `${name} · Skillwire`;
  }

  private draw(): void {
    const { view } = this.router.place;
    for (const [name, link] of this.links) {
      if (name === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const shown = { skills: this.skills, sources: this.sources, problems: this.problems, connect: this.connect }[view];
    const name = this.links.get(view)?.querySelector(".view-name")?.textContent ?? "";
    document.title = `${name} · Skillwire`;
    shown.element.classList.add("view");
    if (this.main.firstChild !== shown.element) fill(this.main, shown.element);
    if (view === "skills") this.skills.place();
    this.store.showProblems(view === "problems");
    if (view === "problems") this.problems.place();
    if (view === "connect") void this.connect.show();
  }

  private skip(event: Event): void {
    event.preventDefault();
    this.main.focus();
  }

  private pressed(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    if (this.router.place.view !== "skills") this.router.go({ view: "skills", skill: "" });
    requestAnimationFrame(() => this.skills.focusSearch());
  }
}
