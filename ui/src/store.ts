// The state of the page, loaded from the server, and its listeners.

import type { Backend, Change, Config, FoundPage, Skill } from "./backend";
import { Failure } from "./backend";

const PAGE = 2000;
const PROBLEMS = 2000;

export interface State {
  config: Config | null;
  skills: Skill[];
  /** Whether all skills are loaded. The first ones are shown before that. */
  complete: boolean;
  failure: Failure | null;
  lost: boolean;
}

export class Store {
  state: State = { config: null, skills: [], complete: false, failure: null, lost: false };
  private readonly listeners: Array<(state: State) => void> = [];
  private loading: Promise<void> | null = null;
  private again = false;
  private revision = -1;

  constructor(
    readonly backend: Backend,
    private readonly locked: () => void,
  ) {}

  listen(listener: (state: State) => void): void {
    this.listeners.push(listener);
  }

  follow(): void {
    this.backend.follow(
      (revision) => {
        if (revision !== this.revision) void this.load();
      },
      (lost) => {
        if (lost !== this.state.lost) this.set({ lost });
        if (!lost && this.state.failure?.lost) void this.load();
      },
    );
  }

  /** Load everything again. Concurrent calls share one load. */
  load(): Promise<void> {
    if (this.loading) {
      this.again = true;
      return this.loading;
    }
    this.loading = this.loadAll().finally(() => {
      this.loading = null;
      if (this.again) {
        this.again = false;
        void this.load();
      }
    });
    return this.loading;
  }

  /** Make a change, and load everything again. Throws `Failure`. */
  async change<K extends keyof Change>(action: K, argument: Change[K]): Promise<void> {
    try {
      await this.backend.change(action, argument);
    } catch (error) {
      if (error instanceof Failure && error.locked) this.locked();
      throw error;
    } finally {
      await this.load();
    }
  }

  /** Search on the server. Throws `Failure`. */
  async search(query: string, limit: number, cursor?: string): Promise<FoundPage> {
    try {
      return await this.backend.search(query, limit, cursor);
    } catch (error) {
      if (error instanceof Failure && error.locked) this.locked();
      throw error;
    }
  }

  private async loadAll(): Promise<void> {
    try {
      const config = await this.backend.config(PROBLEMS);
      let skills: Skill[] = [];
      for (let total = Infinity; skills.length < total; ) {
        const page = await this.backend.skills(skills.length, PAGE);
        total = page.skills.length ? page.total : skills.length;
        skills = skills.concat(page.skills);
        if (!this.state.complete && skills.length < total) this.set({ config, skills, failure: null });
        if (page.revision !== config.revision) this.again = true;
      }
      this.revision = config.revision;
      this.set({ config, skills: this.reuse(skills), failure: null, complete: true });
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(String(error));
      if (failure.locked) this.locked();
      else this.set({ failure });
    }
  }

  /** Reuse the objects of unchanged skills, so that they are not drawn again. */
  private reuse(skills: Skill[]): Skill[] {
    const known = new Map(this.state.skills.map((skill) => [skill.uri, skill]));
    return skills.map((skill) => {
      const before = known.get(skill.uri);
      return before && same(before, skill) ? before : skill;
    });
  }

  private set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener(this.state);
  }
}

function same(one: Skill, other: Skill): boolean {
  return (Object.keys(one) as Array<keyof Skill>).every((key) => one[key] === other[key]);
}
