// The search of the skills view. The server ranks the skills, and only the answer to the newest query is shown.

import type { FoundPage, Match, Skill } from "./backend";
import { Failure } from "./backend";
import { h } from "./dom";
import { count, number } from "./format";
import type { Items } from "./rows";
import { loaded } from "./rows";
import { search } from "./search";
import type { State, Store } from "./store";

const PAUSE = 120;
/** Milliseconds without typing before a query is sent. */
const SLOW = 500;
/** Milliseconds of waiting for an answer before the page says so. */
const PAGE = 25;
/** Number of results in one answer. */
const AGAIN = 1000;
/** Milliseconds before a query is sent again to a server whose index is still being built. */
const MOST = 200;
/** The number of results that a server finds at most. */

/** What is shown for a query. */
interface Found {
  query: string;
  page: FoundPage;
  skills: Items<Skill>;
  matches: Map<string, Match>;
  failure: Failure | null;
}

export class Finder {
  /** What was found last; null if nothing is searched for. */
  found: Found | null = null;
  waiting = false;
  private slow = false;
  private query = "";
  private newest = 0;
  private timer = 0;
  private hurry = 0;
  private unfinished = 0;

  constructor(
    private readonly store: Store,
    /** Called when there is something else to show; with true if it answers another query. */
    private readonly changed: (fresh: boolean) => void,
  ) {}

  /** Search for a query after a pause. Answers to earlier queries are dropped. */
  ask(query: string): void {
    this.query = query;
    this.newest += 1;
    clearTimeout(this.timer);
    clearTimeout(this.unfinished);
    this.timer = 0;
    if (query.trim()) {
      this.timer = window.setTimeout(() => this.now(), PAUSE);
      this.wait();
      return this.changed(false);
    }
    this.settle();
    this.found = null;
    this.changed(true);
  }

  /** Send the query if it waits for the pause. */
  now(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    void this.load(PAGE, this.query !== this.found?.query);
  }

  /** Search again after the skills have changed. As many results as before are shown. */
  refresh(): void {
    if (this.timer || !this.found || this.found.query !== this.query) return;
    void this.load(Math.max(PAGE, this.found.page.skills.length), false);
  }

  /** Show more results. */
  async more(): Promise<void> {
    const { found } = this;
    if (!found?.page.nextCursor || this.timer || found.query !== this.query) return;
    await this.load(found.page.skills.length + PAGE, false, found.page);
  }

  /** The number of further results that the next request returns. */
  get left(): number {
    const page = this.found?.page;
    return page?.nextCursor === undefined ? 0 : Math.min(PAGE, Math.max(1, page.total - page.skills.length));
  }

  /** Return the skills to show. Skills that are not approved are not ranked: they come last. */
  show(state: State): Items<Skill> {
    return this.found?.skills ?? state.rows ?? loaded([]);
  }

  /** Return what to tell about the results; null if nothing is searched for. Text in backticks is code. */
  lines(state: State): string[] | null {
    const { found } = this;
    const all = count(state.rows?.length ?? 0, "skill");
    if (this.slow) return ["Searching…"];
    if (!found) return null;
    if (found.failure?.lost) return [`${number(found.skills.length)} of ${all}`, OFFLINE];
    if (!found.page.matches) return [`${number(found.skills.length)} of ${all}`];
    const { total, weak, corrections, incomplete, withheldTotal: others = 0 } = found.page;
    const lines = [total >= MOST ? `The best ${number(total)} of ${all}` : `${number(total + others)} of ${all}`];
    if (weak && total) lines.push("No skill fits well.");
    for (const [word, other] of Object.entries(corrections ?? {})) {
      lines.push(`Searched for ${code(other)} instead of ${code(word)}.`);
    }
    const first = found.page.withheld?.length ?? 0;
    if (others) {
      const last = first < others ? `, and the first ${number(first)} shown last` : total ? ", and shown last" : "";
      lines.push(`${count(others, "skill")} not approved: not ranked${last}.`);
    }
    if (incomplete) lines.push("The index is still being built. Some skills may be missing.");
    return lines;
  }

  /** Return what the row of a skill depends on. */
  look(skill: Skill): string {
    const match = this.found?.matches.get(skill.uri);
    return match ? `${match.fields.join()} ${match.snippet} ${this.found?.query}` : "";
  }

  /** Load at least `size` results, after those of `page`. */
  private async load(size: number, fresh: boolean, page?: FoundPage): Promise<void> {
    const asked = (this.newest += 1);
    const { query } = this;
    clearTimeout(this.unfinished);
    this.wait();
    let found: Found;
    try {
      found = await this.results(query, size, page);
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(String(error));
      // Results that have changed cannot be continued. Without a connection, the page searches what it has.
      if (page && !failure.lost && asked === this.newest) return this.load(size, false);
      const known = failure.lost ? search(this.store.state.rows?.skills ?? [], query) : [];
      found = { query, page: EMPTY, skills: loaded(known), matches: new Map(), failure };
    }
    if (asked !== this.newest) return;
    this.settle();
    this.found = found;
    if (found.page.incomplete) this.unfinished = window.setTimeout(() => this.refresh(), AGAIN);
    this.changed(fresh);
  }

  private async results(query: string, size: number, before?: FoundPage): Promise<Found> {
    const page = await this.pages(query, size, before);
    const matches = new Map((page.matches ?? []).map((match) => [match.uri, match]));
    if (page.matches) {
      const { withheld = [] } = page;
      const last = new Set(withheld.map((skill) => skill.uri));
      const ranked = page.skills.filter((skill) => !last.has(skill.uri));
      return { query, page, skills: loaded([...ranked, ...withheld]), matches, failure: null };
    }
    const skills = this.store.rows(query);
    await skills.open({ key: "", at: 0, rows: 0 });
    return { query, page, skills, matches, failure: null };
  }

  private async pages(query: string, size: number, before?: FoundPage): Promise<FoundPage> {
    const first = before ?? (await this.store.search(query, PAGE));
    let page = first;
    while (page.nextCursor !== undefined && page.skills.length < size) {
      const next = await this.store.search(query, PAGE, page.nextCursor);
      const { withheld, withheldTotal } = first; // only the first answer has them
      page = {
        ...next,
        skills: [...page.skills, ...next.skills],
        matches: [...(page.matches ?? []), ...(next.matches ?? [])],
        ...(withheld && { withheld }),
        ...(withheldTotal !== undefined && { withheldTotal }),
      };
    }
    return page;
  }

  private wait(): void {
    this.waiting = true;
    if (this.hurry) return;
    this.hurry = window.setTimeout(() => {
      this.slow = true;
      this.changed(false);
    }, SLOW);
  }

  private settle(): void {
    clearTimeout(this.hurry);
    this.hurry = 0;
    this.waiting = this.slow = false;
  }
}

const OFFLINE = "Without a connection, only the skills that this page has loaded are searched.";
const EMPTY: FoundPage = { revision: 0, total: 0, offset: 0, skills: [] };
const LEAD = 16;
/** Maximum number of characters of a snippet before its first marked word. */
const SHORT = 3;
const ALPHABETS = "\u2e80";
/** Words of scripts after this character are not separated by spaces, and short. */
const WORD = /[\p{L}\p{N}]+/gu;

/** Return the line of a row that tells why the skill fits. */
export function why(found: Found | null, skill: Skill): Node[] {
  const match = found?.matches.get(skill.uri);
  if (!found || !match) return [];
  const searched = `${found.query} ${Object.values(found.page.corrections ?? {}).join(" ")}`.toLowerCase();
  return [
    h(
      "p",
      { class: "why" },
      h("span", { class: "fields" }, h("span", { class: "sr" }, "Found in "), match.fields.join(", ")),
      match.snippet && h("span", { class: "line", dir: "auto" }, marked(match.snippet, searched.match(WORD) ?? [])),
    ),
  ];
}

/** Mark the words of a text that begin like one of the words. The text is cut to begin just before the first. */
function marked(text: string, words: string[]): Array<Node | string> {
  const shown: Array<Node | string> = [];
  let from = 0;
  for (const found of text.matchAll(WORD)) {
    const word = found[0].toLowerCase();
    const fits = (each: string) => word.startsWith(each) || (word.length > SHORT && each.startsWith(word));
    if (!words.some((each) => (each.length > 2 || each > ALPHABETS) && fits(each))) continue;
    const before = text.slice(from, found.index);
    const short = shown.length || before.length <= LEAD ? before : `… ${before.slice(-LEAD).replace(/^\S*\s/, "")}`;
    shown.push(short, h("mark", null, found[0]));
    from = found.index + found[0].length;
  }
  return [...shown, text.slice(from)];
}

/** Return a word as code, unless it has backticks itself. */
function code(word: string): string {
  return word.includes("`") ? word : `\`${word}\``;
}
