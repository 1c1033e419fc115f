// The skills view: a search field, the matching skills, and the details of one of them.

import type { Skill } from "./backend";
import { Detail } from "./detail";
import { fill, h, icon } from "./dom";
import { Finder, why } from "./finder";
import { count, number, skillPath } from "./format";
import { icons } from "./icons";
import { VirtualList } from "./list";
import type { Notices } from "./notices";
import { badge, empty, literals } from "./pieces";
import type { Router } from "./router";
import type { Section, SkillRows } from "./rows";
import type { State, Store } from "./store";

export class SkillsView {
  private readonly field = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search skills",
    "aria-label": "Search skills",
    "aria-controls": "skill-list",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => this.finder.ask(this.field.value),
    onkeydown: (event: KeyboardEvent) => this.pressed(event),
  });
  private readonly tally = h("p", { class: "tally", role: "status", "aria-live": "polite" });
  private readonly finder: Finder;
  private readonly list: VirtualList<Skill>;
  private readonly more = h("button", { class: "small more", hidden: true, onclick: () => void this.showMore() });
  private readonly none = h("div", { class: "none", hidden: true });
  private readonly detail: Detail;
  readonly element: HTMLElement;
  private state: State;
  private placed = false;
  private revealed = false;
  private wanted = "";

  constructor(
    private readonly store: Store,
    private readonly router: Router,
    notices: Notices,
  ) {
    this.state = store.state;
    this.finder = new Finder(store, (fresh) => this.draw(fresh));
    this.list = new VirtualList<Skill>({
      label: "Skills",
      key: (skill) => skill.uri,
      row: (skill) => [...row(skill), ...why(this.finder.found, skill)],
      waiting: () => [h("p", { class: "waiting" }, "Loading…")],
      look: (skill) => this.finder.look(skill),
      left: () => this.focusSearch(),
      chosen: (skill) => {
        this.revealed = true; // it is where the person has found it
        router.go({ view: "skills", skill: skill.uri });
      },
      settled: () => this.remember(),
    });
    this.list.element.id = "skill-list";
    store.section = () => this.section();
    store.more = () => this.draw(false);
    this.detail = new Detail(store, router, notices);
    this.element = h(
      "div",
      { class: "skills" },
      h(
        "section",
        { class: "finder", "aria-label": "Find a skill" },
        h("h1", { class: "sr" }, "Skills"),
        h(
          "div",
          { class: "search" },
          icon(icons.search),
          this.field,
          h("kbd", { "aria-hidden": "true" }, "/"),
        ),
        this.tally,
        this.list.element,
        this.none,
        this.more,
      ),
      this.detail.element,
    );
    this.detail.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) this.close(event);
    });
    const { query } = router.remembered();
    if (query) this.search(query);
  }

  /** Go back from a skill to the list. Where there is only room for one of them, close the skill. */
  private close(event: KeyboardEvent): void {
    event.preventDefault();
    if (matchMedia("(max-width: 800px)").matches) {
      this.router.go({ view: "skills", skill: "" });
      this.element.classList.remove("open"); // the address changes later, and a hidden list takes no focus
    }
    this.list.focus();
  }

  focusSearch(): void {
    this.field.focus();
    this.field.select();
  }

  search(query: string): void {
    this.field.value = query;
    this.finder.ask(query);
  }

  update(state: State): void {
    const changed = state.rows !== this.state.rows;
    this.state = state;
    if (changed) {
      this.finder.refresh();
      this.draw(false);
    }
    this.place();
  }

  /** Show the skill that the address names, if any. */
  place(): void {
    const { skill } = this.router.place;
    this.element.classList.toggle("open", skill !== "");
    this.list.select(skill);
    if (this.state.rows && !this.placed) {
      this.placed = true;
      this.list.begin(this.router.remembered().top);
    }
    if (this.state.rows && skill && !this.revealed) this.reveal(skill, this.state.rows);
    void this.detail.show(skill, this.state);
  }

  /** Scroll to the skill with which the page was opened. Its part of the list may have to be loaded first. */
  private reveal(skill: string, rows: SkillRows): void {
    this.revealed = this.finder.found !== null || this.wanted === skill || rows.indexOf(skill) >= 0;
    this.wanted = this.revealed ? "" : skill;
    if (this.revealed) this.list.reveal();
    else void this.store.load();
  }

  /** Return which skills to load: those that are shown now or, at first, those at the remembered place. */
  private section(): Section {
    const section = this.list.section();
    if (this.finder.found) return { ...section, key: "", at: 0 };
    if (this.placed && !this.wanted) return section;
    return { ...section, key: this.wanted || this.router.remembered().top || this.router.place.skill };
  }

  /** Remember the place in the list, for when the browser comes back to the page. */
  private remember(): void {
    const query = this.field.value;
    this.router.remember({ top: query ? "" : this.list.section().key, query });
  }

  private draw(typed: boolean): void {
    const { rows } = this.state;
    const all = rows?.length ?? 0;
    const found = this.finder.show(this.state);
    const lines = this.finder.lines(this.state) ?? [count(all, "skill")];
    if (this.tally.textContent !== lines.join("")) fill(this.tally, lines.map((line) => h("span", null, literals(line))));
    this.tally.hidden = !all;
    this.list.element.classList.toggle("found", (this.finder.found?.matches.size ?? 0) > 0);
    this.list.element.setAttribute("aria-busy", String(this.finder.waiting));
    this.more.hidden = !this.finder.left;
    this.more.textContent = `Show ${number(this.finder.left)} more`;
    this.list.element.hidden = !found.length;
    this.none.hidden = found.length > 0 || !rows;
    this.element.classList.toggle("without", rows !== null && !all);
    this.list.show(found, typed);
    if (typed) this.remember();
    if (!found.length && rows) fill(this.none, all ? this.nothingFound() : this.noSkills());
  }

  private async showMore(): Promise<void> {
    await this.finder.more();
    if (this.more.hidden && document.activeElement === document.body) this.list.focus();
  }

  private nothingFound(): HTMLElement {
    const clear = () => {
      this.search("");
      this.field.focus();
    };
    const found = this.finder.found;
    const failure = found?.failure?.lost ? null : found?.failure;
    return empty(
      icons.search,
      failure ? "The search failed" : "Nothing matches",
      failure
        ? h("p", null, literals(failure.message), ".")
        : h("p", null, "No skill fits ", h("q", { dir: "auto" }, found?.query ?? ""), "."),
      h("button", { onclick: clear }, "Clear the search"),
    );
  }

  private noSkills(): HTMLElement {
    const config = this.state.config;
    const sources = () => this.router.go({ view: "sources", skill: "" });
    const served = config?.sources.length
      ? `${count(config.sources.length, "source")} ${config.sources.length === 1 ? "is" : "are"} served, but without any skill. A skill is a folder with a SKILL.md file.`
      : "Add a folder, a repository or a web site with skills.";
    return empty(
      icons.book,
      "No skills yet",
      h("p", null, served),
      h("button", { class: "primary", onclick: sources }, config?.editable ? "Add a source" : "Show the sources"),
    );
  }

  private pressed(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.list.focus();
    } else if (event.key === "Escape" && this.field.value) {
      event.preventDefault();
      this.search("");
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      this.finder.now();
    }
  }
}

function row(skill: Skill): Node[] {
  const problems = skill.problems > 0 && badge(String(skill.problems), "warn", count(skill.problems, "problem"));
  const path = skill.repeated && h("p", { class: "path", title: skillPath(skill.uri) }, h("bdi", null, decoded(skillPath(skill.uri))));
  const under = [
    skill.withheld && badge("not approved", "warn"),
    skill.customized && badge("Customized", "accent"),
    !skill.withheld && hidden(skill),
    path,
  ].filter(Boolean);
  return [
    h("div", { class: "title" }, h("strong", { title: skill.name }, skill.name), problems),
    ...(under.length ? [h("div", { class: "under" }, under)] : []),
    h("p", { class: under.length ? "about short" : "about", dir: "auto" }, literals(skill.description)),
  ];
}

/** Return a badge that tells for whom a skill is hidden, if it is. */
function hidden(skill: Skill): Node | false {
  if (skill.assistant && skill.user) return false;
  if (skill.assistant) return badge("not for people", "off");
  if (skill.user) return badge("not for models", "off");
  const both = badge("hidden", "off");
  both.append(h("span", { class: "sr" }, ": not for models, not for people"));
  return both;
}

/** Return a path as people write it, if its escapes stand for visible characters. */
function decoded(path: string): string {
  try {
    const text = decodeURIComponent(path);
    return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(text) ? text : path;
  } catch {
    return path;
  }
}
