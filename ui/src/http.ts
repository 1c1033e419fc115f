// The server as a browser reaches it: calls below `/ui/`, and a stream that says when something changed.

import { Failure } from "./backend";
import type { Backend, Change, Config, FileText, Skill, SkillDetail, SkillFile, SkillPage } from "./backend";

interface Session {
  open: boolean;
  csrf?: string;
  canLeave?: boolean;
}

export class HttpBackend implements Backend {
  private csrf = "";
  leave?: () => Promise<void>;

  /** Ask whether we are let in; false if the token is wanted first. */
  async begin(): Promise<boolean> {
    const session = await request<Session>("GET", "/ui/session");
    this.csrf = session.csrf ?? "";
    if (session.canLeave) this.leave = () => request("DELETE", "/ui/session");
    return session.open;
  }

  /** Show the token, once. What remains of it is a cookie that no script can read. */
  async enter(token: string): Promise<void> {
    await request("POST", "/ui/session", { token });
    await this.begin();
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
    const events = new EventSource("/ui/events");
    events.onmessage = (event) => noticed(Number(event.data));
    events.onopen = () => lost(false);
    events.onerror = () => {
      lost(true);
      // A stream that was refused is not opened again by itself: the server may be back by now.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => this.follow(noticed, lost), 2000);
    };
  }

  openLink(url: string): void {
    window.open(url, "_blank", "noopener,noreferrer");
  }

  private async call<T>(action: string, argument: object): Promise<T> {
    const path = `/ui/call/${action}`;
    try {
      return await request<T>("POST", path, argument, this.csrf);
    } catch (error) {
      // The server was started anew, and has another secret: ask for it once.
      if (!(error instanceof Failure) || error.message !== OUTDATED) throw error;
      if (!(await this.begin())) throw new Failure("this server wants its token", "", true);
      return request<T>("POST", path, argument, this.csrf);
    }
  }
}

const OUTDATED = "outdated";

async function request<T>(method: string, path: string, body?: object, csrf = ""): Promise<T> {
  const headers: Record<string, string> = csrf ? { "X-Skillwire-Page": csrf } : {};
  if (body) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: body ? JSON.stringify(body) : null });
  } catch {
    throw new Failure("The server does not answer", "Is it still running?", false, true);
  }
  if (response.status === 403 && csrf) throw new Failure(OUTDATED);
  const answer = (await response.json().catch(() => ({}))) as { error?: string; hint?: string };
  if (!response.ok) {
    const locked = response.status === 401 && path !== "/ui/session";
    throw new Failure(answer.error ?? `The server answered ${response.status}`, answer.hint, locked);
  }
  return answer as T;
}
