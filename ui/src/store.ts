// What the page knows of the server now, and who is told when that is something else.

import type { Backend, Change, Config, Skill } from "./backend";
import { Failure } from "./backend";

const PAGE = 2000;
const PROBLEMS = 2000;

export interface State {
  config: Config | null;
  skills: Skill[];
  /** Whether all skills are here; the first ones are shown before. */
  complete: boolean;
  failure: Failure | null;
  lost: boolean;
}

export class Store {
  state: State = { config: null, skills: [], complete: false, failure: null, lost: false };
  private readonly listeners: Array<(state: State) => void> = [];
  private loading: Promise<void> | null = null;
  private again = false;
  private seen = -1;

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
        if (revision !== this.seen) void this.load();
      },
      (lost) => {
        if (lost !== this.state.lost) this.set({ lost });
        if (!lost && this.state.failure?.lost) void this.load();
      },
    );
  }

  /** Look again. Of several who want that at once, one asks. */
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

  /** Change something, and look again. Raises `Failure`. */
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
      this.seen = config.revision;
      this.set({ config, skills: this.kept(skills), failure: null, complete: true });
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(String(error));
      if (failure.locked) this.locked();
      else this.set({ failure });
    }
  }

  /** Keep the objects of skills that are as they were, so that nothing is drawn anew for them. */
  private kept(skills: Skill[]): Skill[] {
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
