// The data and requests of a page. Implemented over HTTP in a browser, and through the host in an MCP App.

export interface Skill {
  uri: string;
  name: string;
  description: string;
  source: string;
  origin: string;
  path: string;
  files: number;
  bytes: number | null;
  problems: number;
  assistant: boolean;
  user: boolean;
  customized: boolean;
}

export interface SkillFile {
  uri: string;
  path: string;
  mimeType: string;
  size: number | null;
}

export interface Problem {
  path: string;
  line: number | null;
  field: string;
  rule: string;
  severity: "error" | "warning";
  message: string;
  hint: string;
}

export interface SkillDetail extends Skill {
  revision: number;
  frontmatter: Record<string, unknown>;
  fileList: SkillFile[];
  problemList: Problem[];
  location: string;
}

export interface Source {
  label: string;
  kind: string;
  place: string;
  origin: string;
  givenBy: string;
  removable: boolean;
  fetched: string | null;
  skills: number;
  errors: number;
  warnings: number;
  state: "ready" | "waiting" | "failed" | "stale";
  reason: string;
  hint: string;
}

export interface Config {
  revision: number;
  version: string;
  editable: boolean;
  /** What to do so that this page can change the server; empty if it can. */
  unlock: string;
  skills: number;
  errors: number;
  warnings: number;
  sources: Source[];
  static: boolean;
  staticFixed: string;
  allowedOrigins: string[];
  configFile: string;
  problems: Problem[];
}

export interface SkillPage {
  revision: number;
  total: number;
  offset: number;
  skills: Skill[];
}

export interface FileText {
  text: string | null;
  why: string;
}

export interface Change {
  "skill-config-add-source": { source: string; label?: string; prefix?: string };
  "skill-config-remove-source": { label: string };
  "skill-config-sync-source": { label: string };
  "skill-config-visibility": { uri: string; assistant?: boolean | null; user?: boolean | null };
  "skill-config-allowed-origins": { origins: string[] };
  "skill-config-static": { static: boolean };
}

/** An error with a message, mostly from the server, and a hint. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly hint = "",
    /** Whether the browser must sign in first. */
    readonly locked = false,
    /** Whether the server could not be reached. */
    readonly lost = false,
  ) {
    super(message);
  }
}

export interface Backend {
  config(problems: number): Promise<Config>;
  skills(offset: number, limit: number): Promise<SkillPage>;
  skill(uri: string): Promise<SkillDetail>;
  file(skill: Skill, file: SkillFile): Promise<FileText>;
  change<K extends keyof Change>(action: K, argument: Change[K]): Promise<void>;
  /** Call `noticed` whenever something may have changed, and `lost` when the connection is lost or restored. */
  follow(noticed: (revision: number) => void, lost: (lost: boolean) => void): void;
  openLink(url: string): void;
  /** Sign out; absent if there is no session. */
  leave?: () => Promise<void>;
}
