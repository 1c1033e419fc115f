// The state of the page, loaded from the server, and its listeners.

import type { Backend, Change, Config, FoundPage, Problem } from "./backend";
import { Failure } from "./backend";
import type { Section } from "./rows";
import { SkillRows } from "./rows";

const PROBLEMS = 2000;
const SOON = 150;
/** Milliseconds before everything is loaded again while the skills keep changing. */

export interface State {
  config: Config | null;
  /** All skills; null until the first of them are loaded. */
  rows: SkillRows | null;
  /** The first problems of each group; null until they are shown for the first time. */
  problems: Problem[] | null;
  failure: Failure | null;
  lost: boolean;
}

export class Store {
  state: State = { config: null, rows: null, problems: null, failure: null, lost: false };
  /** Returns which part of the list of skills is shown. */
  section: () => Section = () => ({ key: "", at: 0, rows: 0 });
  /** Called when a further part of the list of skills is there. */
  more: () => void = () => undefined;
  private readonly listeners: Array<(state: State) => void> = [];
  private loading: Promise<void> | null = null;
  private again = false;
  private timer = 0;
  private revision = -1;
  private withProblems = false;

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

  /** Load everything that is shown again. Concurrent calls share one load. */
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

  /** Say whether problems are shown. Only then are they loaded, and loaded again after changes. */
  showProblems(shown: boolean): void {
    if (shown && !this.withProblems && this.state.config) void this.load();
    this.withProblems = shown;
  }

  /** Return the first problems of each group. Throws `Failure`. */
  async problems(): Promise<Problem[]> {
    return (await this.backend.config(PROBLEMS)).problems;
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

  /** Return a list of all skills, or of those that contain every word of `query`. It is not loaded yet. */
  rows(query = ""): SkillRows {
    return new SkillRows({
      load: (offset, limit, around) =>
        this.backend.skills(offset, limit, { ...(query && { query }), ...(around && { around }) }),
      changed: () => this.more(),
      outdated: () => this.soon(),
      failed: (error) => this.fail(error),
      before: this.state.rows?.skills ?? [],
    });
  }

  private async loadAll(): Promise<void> {
    const withProblems = this.withProblems;
    try {
      const rows = this.rows();
      const config = await this.backend.config(withProblems ? PROBLEMS : 0);
      await rows.open(this.section());
      if (rows.revision !== config.revision) this.soon();
      if (withProblems !== this.withProblems && this.withProblems) this.again = true;
      this.revision = config.revision;
      const problems = withProblems ? config.problems : this.state.problems;
      this.set({ config, rows, problems, failure: null });
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    const failure = error instanceof Failure ? error : new Failure(String(error));
    if (failure.locked) this.locked();
    else this.set({ failure });
  }

  private soon(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.load();
    }, SOON);
  }

  private set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener(this.state);
  }
}
