// The server as a browser reaches it: calls below `/ui/`, and a stream that says when something changed.

import { Failure } from "./backend";
import type { Backend, Change, Config, FileText, Skill, SkillDetail, SkillFile, SkillPage } from "./backend";
import { events } from "./events";

const STORED = "skillwire-session";
const KEY = "#key=";
const OUTDATED = "outdated";
const PAUSE = 2000;
/** Milliseconds until a lost stream is opened again. */

interface Session {
  open: boolean;
  csrf?: string;
  canLeave?: boolean;
}

export class HttpBackend implements Backend {
  private csrf = "";
  private session = stored();
  leave?: () => Promise<void>;

  /** Ask whether we are let in; false if the token is wanted first. */
  async begin(): Promise<boolean> {
    const session = await this.request<Session>("GET", "/ui/session");
    this.csrf = session.csrf ?? "";
    if (session.canLeave) this.leave = () => this.signOut();
    else {
      this.keep("");
      delete this.leave;
    }
    return session.open;
  }

  /** Show the token, once. What remains of it is a session, which this browser keeps for this origin alone. */
  async enter(token: string): Promise<void> {
    await this.open({ token });
  }

  /** Use the one-time key of the address, if it has one. Raises `Failure` if it was used before. */
  async redeem(): Promise<void> {
    const { hash } = location;
    if (!hash.startsWith(KEY)) return;
    history.replaceState(null, "", location.pathname); // it must not stay in the history
    await this.open({ key: decodeURIComponent(hash.slice(KEY.length)) });
  }

  config(problems: number): Promise<Config> {
    return this.call("skill-config", { problems });
  }

  skills(offset: number, limit: number): Promise<SkillPage> {
    return this.call("skill-display", { offset, limit });
  }

  async skill(uri: string): Promise<SkillDetail> {
    return (await this.call<{ skill: SkillDetail }>("skill-display", { skill: uri })).skill;
  }

  file(_skill: Skill, file: SkillFile): Promise<FileText> {
    return this.call("skill-file", { uri: file.uri });
  }

  async change<K extends keyof Change>(action: K, argument: Change[K]): Promise<void> {
    await this.call(action, argument);
  }

  follow(noticed: (revision: number) => void, lost: (lost: boolean) => void): void {
    const again = async (): Promise<void> => {
      try {
        await events("/ui/events", this.headers(), () => lost(false), (data) => noticed(Number(data)));
      } catch (error) {
        // The session is over: the next load asks for the token. Anything else may pass.
        if (error instanceof Failure && error.locked) return noticed(-1);
      }
      lost(true);
      setTimeout(() => void again(), PAUSE);
    };
    void again();
  }

  openLink(url: string): void {
    window.open(url, "_blank", "noopener,noreferrer");
  }

  private async open(shown: { token: string } | { key: string }): Promise<void> {
    const { session } = await this.request<{ session: string }>("POST", "/ui/session", shown);
    this.keep(session);
    await this.begin();
  }

  private async signOut(): Promise<void> {
    try {
      await this.request("DELETE", "/ui/session");
    } finally {
      this.keep("");
    }
  }

  private keep(session: string): void {
    this.session = session;
    try {
      if (session) localStorage.setItem(STORED, session);
      else localStorage.removeItem(STORED);
    } catch {
      // A browser that stores nothing asks again after a reload.
    }
  }

  private headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.session) headers["X-Skillwire-Session"] = this.session;
    if (this.csrf) headers["X-Skillwire-Page"] = this.csrf;
    return headers;
  }

  private async call<T>(action: string, argument: object): Promise<T> {
    const path = `/ui/call/${action}`;
    try {
      return await this.request<T>("POST", path, argument);
    } catch (error) {
      // The server was started anew, and has another secret: ask for it once.
      if (!(error instanceof Failure) || error.message !== OUTDATED) throw error;
      if (!(await this.begin())) throw new Failure("this server wants its token", "", true);
      return this.request<T>("POST", path, argument);
    }
  }

  private async request<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = this.headers();
    if (body) headers["Content-Type"] = "application/json";
    let response: Response;
    try {
      response = await fetch(path, { method, headers, body: body ? JSON.stringify(body) : null });
    } catch {
      throw new Failure("The server does not answer", "Is it still running?", false, true);
    }
    const answer = (await response.json().catch(() => ({}))) as { error?: string; hint?: string; code?: string };
    if (response.ok) return answer as T;
    if (answer.code === OUTDATED) throw new Failure(OUTDATED);
    const locked = response.status === 401 && path !== "/ui/session";
    throw new Failure(answer.error ?? `The server answered ${response.status}`, answer.hint, locked);
  }
}

function stored(): string {
  try {
    return localStorage.getItem(STORED) ?? "";
  } catch {
    return "";
  }
}
