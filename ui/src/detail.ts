// One skill: its origin, visibility, problems, document and files.

import type { FileText, Problem, SkillDetail, SkillFile } from "./backend";
import { Failure } from "./backend";
import { copyButton } from "./copy";
import { fill, h, icon, redraw } from "./dom";
import { bytes, count, skillPath } from "./format";
import { icons } from "./icons";
import { render } from "./markdown";
import type { Notices } from "./notices";
import { badge, empty, literals, problemItem, toggle } from "./pieces";
import { reveal, revealed } from "./hidden";
import type { Router } from "./router";
import type { State, Store } from "./store";

type Tab = "document" | "raw" | "files";
const TABS: Array<[Tab, string]> = [
  ["document", "Document"],
  ["raw", "Raw text"],
  ["files", "Files"],
];
const SHOWN_ABOVE = new Set(["name", "description"]);

export class Detail {
  private readonly content = h("div", { class: "content" });
  readonly element = h("article", { class: "detail", "aria-label": "Skill", tabindex: "-1" }, this.content);
  private uri = "";
  private shown = "";
  private tab: Tab = "document";
  private path = "";
  private requests = 0;

  constructor(
    private readonly store: Store,
    private readonly router: Router,
    private readonly notices: Notices,
  ) {}

  /** Show the current state of the skill with this URI. Redraws only if something changed. */
  async show(uri: string, state: State): Promise<void> {
    if (uri !== this.uri) {
      this.uri = uri;
      this.shown = "";
      this.tab = "document";
      this.path = "SKILL.md";
      this.element.scrollTop = 0;
    }
    if (!uri) {
      if (this.shown !== "none") this.nothing();
      return;
    }
    if (!state.config) return;
    const request = ++this.requests;
    try {
      const skill = await this.store.backend.skill(uri);
      const file = skill.fileList.find((each) => each.path === this.path) ?? skill.fileList[0]!;
      const text = await this.store.backend.file(skill, file);
      if (request !== this.requests) return;
      const shown = JSON.stringify([{ ...skill, revision: 0 }, text, state.config.editable, state.config.unlock]);
      if (shown !== this.shown) {
        const first = !this.shown;
        this.shown = shown;
        redraw(this.element, () => this.draw(skill, file, text, state));
        if (first && matchMedia("(max-width: 800px)").matches) this.element.focus({ preventScroll: true });
      }
    } catch (error) {
      const problems = await this.store.problems().catch(() => []);
      if (request === this.requests) this.missing(error, problems);
    }
  }

  private nothing(): void {
    this.shown = "none";
    fill(
      this.content,
      empty(icons.book, "Choose a skill", h("p", null, "Its document, files and settings appear here.")),
    );
  }

  private missing(error: unknown, problems: Problem[]): void {
    this.shown = "";
    const failure = error instanceof Failure ? error : new Failure(String(error));
    fill(
      this.content,
      this.back(),
      h("h1", { class: "sr" }, "Skill"),
      empty(
        icons.error,
        "This skill cannot be shown",
        h("p", null, literals(failure.message)),
        this.reasons(problems),
        h("button", { onclick: () => void this.show(this.uri, this.store.state) }, "Try again"),
      ),
    );
  }

  /** Return a button that shows why the skill is not served; null if it has no problem. */
  private reasons(problems: Problem[]): HTMLElement | null {
    const folder = `${skillPath(this.uri)}/`;
    const found = problems.filter((each) => each.path.startsWith(folder));
    const first = found[0];
    if (!first) return null;
    const rule = found.every((each) => each.rule === first.rule) ? first.rule : "";
    const filter = { severity: "", rule, source: first.source };
    const show = () => this.router.go({ view: "problems", skill: "", filter });
    return h("button", { onclick: show }, `Show ${count(found.length, "problem")}`);
  }

  private back(): HTMLElement {
    return h(
      "button",
      { class: "quiet back", "data-key": "back", onclick: () => this.router.go({ view: "skills", skill: "" }) },
      icon(icons.back),
      "All skills",
    );
  }

  private draw(skill: SkillDetail, file: SkillFile, text: FileText, state: State): void {
    const editable = state.config?.editable ?? false;
    fill(
      this.content,
      this.back(),
      h(
        "header",
        { class: "head" },
        h("h1", null, skill.name),
        h("p", { class: "lead", dir: "auto" }, literals(skill.description)),
        this.address(skill.uri),
        facts(skill),
      ),
      this.problems(skill),
      this.visibility(skill, editable, state.config?.unlock ?? ""),
      this.tabs(skill, file, text),
    );
  }

  private address(uri: string): HTMLElement {
    return h("p", { class: "address" }, h("code", null, uri), copyButton(uri, "Copy the URI", this.notices));
  }

  private problems(skill: SkillDetail): HTMLElement | null {
    if (!skill.problemList.length) return null;
    return h(
      "section",
      { class: "card troubles", "aria-label": "Problems" },
      h("h2", null, count(skill.problemList.length, "problem")),
      h("ul", { class: "problems" }, skill.problemList.map((each) => problemItem(each))),
    );
  }

  private visibility(skill: SkillDetail, editable: boolean, unlock: string): HTMLElement {
    const decide = async (sides: { assistant?: boolean | null; user?: boolean | null }) => {
      try {
        await this.store.change("skill-config-visibility", { uri: skill.uri, ...sides });
        this.notices.say("Saved");
      } catch (error) {
        this.notices.fail(error);
        throw error;
      }
    };
    const reset = () => void decide({ assistant: null, user: null }).catch(() => undefined);
    return h(
      "section",
      { class: "card visibility", "aria-label": "Who may start it" },
      h(
        "header",
        null,
        h("h2", null, "Who may start it"),
        skill.customized && badge("Customized", "accent"),
        skill.customized && editable && h("button", { class: "quiet small", "data-key": "reset", onclick: reset }, "Reset"),
      ),
      toggle(
        "Assistant",
        "A model may load it by itself.",
        skill.assistant,
        editable ? (on) => decide({ assistant: on }) : null,
      ),
      toggle("User", "People may start it by name.", skill.user, editable ? (on) => decide({ user: on }) : null),
      !editable && unlock && h("p", { class: "locked" }, "To change this, ", literals(unlock), "."),
    );
  }

  private tabs(skill: SkillDetail, file: SkillFile, text: FileText): HTMLElement {
    const panel = h("div", { class: "panel", role: "tabpanel", id: "tab-panel", tabindex: "0" });
    const buttons = TABS.map(([tab, name]) =>
      h(
        "button",
        {
          role: "tab",
          id: `tab-${tab}`,
          "aria-controls": "tab-panel",
          onclick: () => turn(tab),
        },
        tab === "files" ? `${name} ${skill.fileList.length}` : name,
      ),
    );
    const turn = (tab: Tab) => {
      this.tab = tab;
      buttons.forEach((button, at) => {
        const chosen = TABS[at]![0] === tab;
        button.setAttribute("aria-selected", String(chosen));
        button.tabIndex = chosen ? 0 : -1;
      });
      panel.setAttribute("aria-labelledby", `tab-${tab}`);
      fill(panel, this.panel(skill, file, text));
    };
    const moved = (event: KeyboardEvent) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const now = TABS.findIndex(([tab]) => tab === this.tab);
      const next = (now + step + TABS.length) % TABS.length;
      turn(TABS[next]![0]);
      buttons[next]!.focus();
    };
    turn(this.tab);
    return h(
      "section",
      { class: "reader" },
      h("div", { class: "tabs", role: "tablist", "aria-label": "Content", onkeydown: moved }, buttons),
      panel,
    );
  }

  private panel(skill: SkillDetail, file: SkillFile, text: FileText): Node[] {
    if (this.tab === "files") return [this.files(skill)];
    const name = file.path === "SKILL.md" ? [] : [this.shownFile(file)];
    if (text.text === null) {
      return [...name, empty(icons.archive, "This file is not shown here", h("p", null, `${text.why}.`))];
    }
    const rendered =
      this.tab === "document" && /\.(md|markdown)$/i.test(file.path)
        ? render(text.text, {
            inside: (path) => this.open(skill, path),
            outside: (url) => this.store.backend.openLink(url),
          })
        : null;
    if (!rendered) {
      const raw = h("pre", { class: "raw", dir: "ltr" }, text.text);
      reveal(raw);
      return [...name, raw];
    }
    const fields = file.path === "SKILL.md" ? frontmatter(skill) : null;
    const document_ = h("div", { class: "prose", dir: "auto" });
    document_.append(rendered);
    return [...name, ...(fields ? [fields] : []), document_];
  }

  private shownFile(file: SkillFile): HTMLElement {
    return h(
      "p",
      { class: "shown-file" },
      revealed(h("code", { dir: "ltr" }, file.path)),
      h(
        "button",
        { class: "quiet small", onclick: () => this.read("SKILL.md") },
        "Back to SKILL.md",
      ),
    );
  }

  private files(skill: SkillDetail): HTMLElement {
    return h(
      "ul",
      { class: "files" },
      skill.fileList.map((file, at) =>
        h(
          "li",
          null,
          h("button", { class: "file", "data-key": `file-${at}`, onclick: () => this.open(skill, file.path) }, revealed(h("span", { dir: "ltr" }, file.path))),
          h("span", { class: "kind" }, file.mimeType),
          h("span", { class: "size" }, bytes(file.size)),
        ),
      ),
    );
  }

  private open(skill: SkillDetail, path: string): void {
    if (skill.fileList.some((file) => file.path === path)) this.read(path);
    else this.notices.fail(new Failure("The skill has no such file", path));
  }

  private read(path: string): void {
    this.path = path;
    this.tab = /\.(md|markdown)$/i.test(path) ? "document" : "raw";
    this.shown = "";
    void this.show(this.uri, this.store.state);
  }
}

function facts(skill: SkillDetail): HTMLElement {
  const all: Array<[string, string]> = [
    ["Origin", skill.origin],
    ["Path", skill.path],
    ["Files", `${count(skill.files, "file")}, ${bytes(skill.bytes)}`],
  ];
  if (skill.trust !== "own") all.push(["Approval", skill.withheld ? "not approved" : "approved"]);
  if (skill.location) all.push(["Folder", skill.location]);
  return h(
    "dl",
    { class: "facts" },
    all.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", { title: value }, value))),
  );
}

function frontmatter(skill: SkillDetail): HTMLElement | null {
  const fields = Object.entries(skill.frontmatter).filter(([name]) => !SHOWN_ABOVE.has(name));
  if (!fields.length) return null;
  const shown = h(
    "details",
    { class: "frontmatter" },
    h("summary", null, count(fields.length, "more field"), " in its frontmatter"),
    h(
      "dl",
      null,
      fields.map(([name, value]) => [
        h("dt", null, name),
        h("dd", null, typeof value === "string" ? value : JSON.stringify(value, null, 1)),
      ]),
    ),
  );
  reveal(shown);
  return shown;
}
