// The backend in an MCP Apps host: every request is a tool call that the host passes on.

import type { App } from "@modelcontextprotocol/ext-apps";

import { Failure } from "./backend";
import type { Backend, Change, Config, FileText, FoundPage, Skill, SkillDetail, SkillFile, SkillPage, Which } from "./backend";

const POLL = 3000;
/** Milliseconds between two checks for changes. Hosts do not notify pages. */

interface Result {
  content?: Array<{ type: string; text?: string }>;
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

export class HostBackend implements Backend {
  constructor(private readonly app: App) {}

  config(problems: number): Promise<Config> {
    return this.request("skill-config", { problems });
  }

  skills(offset: number, limit: number, which: Which = {}): Promise<SkillPage> {
    return this.request("skill-display", { offset, limit, ...which });
  }

  search(query: string, limit: number, cursor?: string): Promise<FoundPage> {
    return this.request("skill-display", cursor === undefined ? { query, limit } : { query, limit, cursor });
  }

  async skill(uri: string): Promise<SkillDetail> {
    return (await this.request<{ skill: SkillDetail }>("skill-display", { skill: uri })).skill;
  }

  async file(skill: Skill, file: SkillFile): Promise<FileText> {
    const result = await this.call("skill-resource", { skill: skill.uri, path: file.path });
    const [block] = result.content ?? [];
    if (result.isError) return { text: null, why: block?.text ?? "it cannot be read" };
    return block?.type === "text" ? { text: block.text ?? "", why: "" } : { text: null, why: "it is not text" };
  }

  async change<K extends keyof Change>(action: K, argument: Change[K]): Promise<void> {
    await this.request(action, argument);
  }

  follow(noticed: (revision: number) => void, lost: (lost: boolean) => void): void {
    const poll = async () => {
      if (document.visibilityState === "visible") {
        try {
          noticed((await this.skills(0, 0)).revision);
          lost(false);
        } catch {
          lost(true);
        }
      }
      setTimeout(() => void poll(), POLL);
    };
    void poll();
  }

  openLink(url: string): void {
    void this.app.openLink({ url });
  }

  private async request<T>(name: string, argument: object): Promise<T> {
    const result = await this.call(name, argument);
    if (result.isError) throw failure(result.content?.[0]?.text ?? "The server refused the call");
    return result.structuredContent as T;
  }

  private async call(name: string, argument: object): Promise<Result> {
    try {
      return (await this.app.callServerTool({ name, arguments: { ...argument } })) as Result;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new Failure(message, "", false, true);
    }
  }
}

/** Parse an error of the server: a message, and on its last line a hint. */
function failure(text: string): Failure {
  const [message = "", hint = ""] = text.split("\nhint: ");
  return new Failure(message, hint);
}
