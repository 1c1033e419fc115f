// What a page knows of the server, and how it asks: over HTTP in a browser, through the host in an MCP App.

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
  /** What to do so that things can be changed here; empty if they can. */
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

/** What went wrong, in the server's own words, and what to do. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly hint = "",
    /** Whether the server wants to know first who asks. */
    readonly locked = false,
    /** Whether it could not be reached at all. */
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
  /** Have `noticed` called whenever something may have changed, and `lost` while nobody can say. */
  follow(noticed: (revision: number) => void, lost: (lost: boolean) => void): void;
  openLink(url: string): void;
  /** Forget who asks; absent where there is nothing to forget. */
  leave?: () => Promise<void>;
}
