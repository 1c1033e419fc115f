// The backend in a browser: calls below `/ui/`, and an event stream that announces changes.

import { Failure } from "./backend";
import type { Backend, Change, Config, Connections, FileText, FoundPage, Skill, SkillDetail, SkillFile, SkillPage, Which } from "./backend";
import { events } from "./events";

const STORED = "skillwire-session";
const KEY = "#key=";
const OUTDATED = "outdated";
const PAUSE = 2000;
/** Milliseconds before a lost stream is opened again. */

interface Session {
  open: boolean;
  csrf?: string;
  canLeave?: boolean;
}

export class HttpBackend implements Backend {
  private csrf = "";
  private session = stored();
  leave?: () => Promise<void>;

  /** Return whether the pages are open to this browser; false if it must sign in first. */
  async begin(): Promise<boolean> {
    const session = await this.request<Session>("GET", "/ui/session");
    this.csrf = session.csrf ?? "";
    if (session.canLeave) this.leave = () => this.signOut();
    else {
      this.store("");
      delete this.leave;
    }
    return session.open;
  }

  /** Sign in with the token. The browser stores only the session, for this origin alone. */
  async enter(token: string): Promise<void> {
    await this.open({ token });
  }

  /** Sign in with the one-time key in the address, if it has one. Throws `Failure` if the key was used before. */
  async redeem(): Promise<void> {
    const { hash } = location;
    if (!hash.startsWith(KEY)) return;
    history.replaceState(null, "", location.pathname); // it must not stay in the history
    await this.open({ key: decodeURIComponent(hash.slice(KEY.length)) });
  }

  config(problems: number): Promise<Config> {
    return this.call("skill-config", { problems });
  }

  skills(offset: number, limit: number, which: Which = {}): Promise<SkillPage> {
    return this.call("skill-display", { offset, limit, ...which });
  }

  search(query: string, limit: number, cursor?: string): Promise<FoundPage> {
    return this.call("skill-display", cursor === undefined ? { query, limit } : { query, limit, cursor });
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
        // The session has ended: the next load asks for the token. Other errors may be temporary.
        if (error instanceof Failure && error.locked) return noticed(-1);
      }
      lost(true);
      setTimeout(() => void again(), PAUSE);
    };
    void again();
  }

  connections(): Promise<Connections> {
    return this.call("skill-connect", { url: `${location.origin}/mcp`, platform: platform() });
  }

  openLink(url: string): void {
    window.open(url, "_blank", "noopener,noreferrer");
  }

  private async open(credential: { token: string } | { key: string }): Promise<void> {
    const { session } = await this.request<{ session: string }>("POST", "/ui/session", credential);
    this.store(session);
    await this.begin();
  }

  private async signOut(): Promise<void> {
    try {
      await this.request("DELETE", "/ui/session");
    } finally {
      this.store("");
    }
  }

  private store(session: string): void {
    this.session = session;
    try {
      if (session) localStorage.setItem(STORED, session);
      else localStorage.removeItem(STORED);
    } catch {
      // Without storage, the browser must sign in again after a reload.
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
      // The server was restarted and has a new CSRF token: fetch it and try once more.
      if (!(error instanceof Failure) || error.message !== OUTDATED) throw error;
      if (!(await this.begin())) throw new Failure("this server requires a token", "", true);
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

/** Return the system of this browser, because clients keep their files in different folders on each. */
function platform(): string {
  if (/Windows/.test(navigator.userAgent)) return "win32";
  return /Macintosh|Mac OS X/.test(navigator.userAgent) ? "darwin" : "linux";
}

function stored(): string {
  try {
    return localStorage.getItem(STORED) ?? "";
  } catch {
    return "";
  }
}
