// A list of any length on the server, of which the page has only the parts that it shows.

import type { Skill, SkillPage } from "./backend";

export const PART = 50;
/** Number of skills in one part. */
export const BEYOND = 6;
/** Additional rows above and below the visible ones, so that fast scrolling shows no gaps. */
const KEPT = 40;
/** Maximum number of parts that are kept. */
const AT_ONCE = 2;
/** Maximum number of requests at the same time. */

/** The items of a list. An item is undefined until it is loaded. */
export interface Items<T> {
  readonly length: number;
  at(index: number): T | undefined;
  /** Return where the loaded item with this key is, or -1. */
  indexOf(key: string): number;
  /** Say which items are shown, so that they are loaded. */
  need(first: number, end: number): void;
}

/** What a list shows: its first item, by index and by key, and the number of rows with room. */
export interface Section {
  key: string;
  at: number;
  rows: number;
}

/** Return a list of skills that are all there. */
export function loaded(skills: Skill[]): Items<Skill> {
  return {
    length: skills.length,
    at: (index) => skills[index],
    indexOf: (uri) => skills.findIndex((skill) => skill.uri === uri),
    need: () => undefined,
  };
}

interface Options {
  load: (offset: number, limit: number, around?: string) => Promise<SkillPage>;
  /** Called when further skills are there. */
  changed: () => void;
  /** Called when the list on the server is no longer the one of which there are parts. */
  outdated: () => void;
  failed: (error: unknown) => void;
  /** The skills before a change. Unchanged ones keep their objects, so that they are not drawn again. */
  before: Skill[];
}

export class SkillRows implements Items<Skill> {
  length = 0;
  revision = -1;
  private readonly parts = new Map<number, Skill[]>();
  private readonly asked = new Set<number>();
  private first = 0;
  private end = 0;
  private failed = false;
  private readonly before: Map<string, Skill>;

  constructor(private readonly options: Options) {
    this.before = new Map(options.before.map((skill) => [skill.uri, skill]));
  }

  /** Load what is shown. If the list has changed, its first item may be elsewhere now. Throws `Failure`. */
  async open({ key, at, rows }: Section): Promise<void> {
    this.put(await this.options.load(start(at), PART, key || undefined));
    if (this.length && !this.parts.size) this.put(await this.options.load(start(this.length - 1), PART));
    const now = key ? this.indexOf(key) : -1;
    const first = Math.max(0, now >= 0 ? now : Math.min(at, this.length - 1));
    const end = Math.min(first + rows + BEYOND, this.length);
    for (let offset = start(Math.max(0, first - BEYOND)); offset < end; offset += PART) {
      if (!this.parts.has(offset)) this.put(await this.options.load(offset, PART));
    }
  }

  at(index: number): Skill | undefined {
    return this.parts.get(start(index))?.[index % PART];
  }

  indexOf(uri: string): number {
    for (const [offset, skills] of this.parts) {
      const at = skills.findIndex((skill) => skill.uri === uri);
      if (at >= 0) return offset + at;
    }
    return -1;
  }

  need(first: number, end: number): void {
    this.first = Math.max(0, first);
    this.end = Math.min(end, this.length);
    this.fill();
  }

  /** All skills that are there. */
  get skills(): Skill[] {
    return [...this.parts].sort(([one], [other]) => one - other).flatMap(([, skills]) => skills);
  }

  /** Load the missing parts of what is shown now. Parts that were only scrolled past are never asked for. */
  private fill(): void {
    for (let offset = start(this.first); offset < this.end && !this.failed; offset += PART) {
      if (this.asked.size >= AT_ONCE) return;
      if (this.parts.has(offset) || this.asked.has(offset)) continue;
      this.asked.add(offset);
      void this.load(offset);
    }
  }

  private async load(offset: number): Promise<void> {
    try {
      const page = await this.options.load(offset, PART);
      if (page.revision !== this.revision) return this.options.outdated();
      this.put(page);
      this.options.changed();
    } catch (error) {
      this.failed = true;
      this.options.failed(error);
    } finally {
      this.asked.delete(offset);
    }
    this.fill();
  }

  private put(page: SkillPage): void {
    this.length = page.total;
    this.revision = page.revision;
    const skills = page.skills.map((skill) => {
      const old = this.before.get(skill.uri);
      return old && same(old, skill) ? old : skill;
    });
    if (skills.length) this.parts.set(page.offset, skills);
    for (const offset of this.parts.keys()) {
      if (this.parts.size <= KEPT) return;
      if (offset + PART <= this.first || offset >= this.end) this.parts.delete(offset);
    }
  }
}

/** Return the offset of the part with this index. */
function start(index: number): number {
  return index - (index % PART);
}

function same(one: Skill, other: Skill): boolean {
  return (Object.keys(one) as Array<keyof Skill>).every((key) => one[key] === other[key]);
}
