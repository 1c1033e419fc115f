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
  /** Whether models and people are not offered the skill, because it is not approved. */
  withheld: boolean;
  trust: "own" | "approved" | "withheld";
  assistant: boolean;
  user: boolean;
  customized: boolean;
  /** Whether other skills have the same name. */
  repeated: boolean;
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
  /** The label of the source; empty if the problem belongs to none. */
  source: string;
  /** The URI of the skill; empty if the problem is not about a served skill. */
  uri: string;
}

/** The number of problems that have the same rule, severity and source. */
export interface ProblemGroup {
  rule: string;
  severity: Problem["severity"];
  source: string;
  count: number;
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
  withheld: number;
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
  /** Whether the sources are servers behind a bridge. */
  bridge: boolean;
  skills: number;
  withheld: number;
  errors: number;
  warnings: number;
  sources: Source[];
  static: boolean;
  staticFixed: string;
  allowedOrigins: string[];
  configFile: string;
  problemGroups: ProblemGroup[];
  /** The first problems of each group. */
  problems: Problem[];
}

/** Which skills a part of the list contains. */
export interface Which {
  /** The URI of a skill: the part with this skill, if there is one. */
  around?: string;
  /** Words that each skill contains, on a server without search. */
  query?: string;
}

export interface SkillPage {
  revision: number;
  total: number;
  offset: number;
  skills: Skill[];
}

/** Why a skill fits a query. */
export interface Match {
  uri: string;
  rank: number;
  /** Where words of the query are. */
  fields: string[];
  /** A line of the skill's text with words of the query; empty if there is none. */
  snippet: string;
}

/** Results of a search, the best first. A server without search returns the skills that contain every word. */
export interface FoundPage extends SkillPage {
  /** Why each of the skills fits; absent if the server has no search. */
  matches?: Match[];
  /** Whether no skill fits well. */
  weak?: boolean;
  /** Words that occur nowhere, and the words that were searched for instead. */
  corrections?: Record<string, string>;
  /** Whether the index is still being built. */
  incomplete?: boolean;
  nextCursor?: string;
  /** The first skills that contain every word, but are not approved and so not ranked. */
  withheld?: Skill[];
  withheldTotal?: number;
}

export interface FileText {
  text: string | null;
  why: string;
}

/** How a person connects one MCP client to this server. */
export interface ClientEntry {
  client: string;
  title: string;
  file: string;
  format: string;
  /** What the file must contain; empty if the client cannot connect to a URL. */
  text: string;
  /** A link that adds the entry; empty if the client has none. */
  link: string;
  note: string;
  nextStep: string;
  /** The command that makes the client start its own server for the same folders; empty if there is none. */
  command: string;
}

export interface Connections {
  url: string;
  /** Whether clients must send a token. */
  token: boolean;
  clients: ClientEntry[];
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
  skills(offset: number, limit: number, which?: Which): Promise<SkillPage>;
  skill(uri: string): Promise<SkillDetail>;
  search(query: string, limit: number, cursor?: string): Promise<FoundPage>;
  file(skill: Skill, file: SkillFile): Promise<FileText>;
  change<K extends keyof Change>(action: K, argument: Change[K]): Promise<void>;
  /** Call `noticed` whenever something may have changed, and `lost` when the connection is lost or restored. */
  follow(noticed: (revision: number) => void, lost: (lost: boolean) => void): void;
  openLink(url: string): void;
  /** Return how to connect clients; absent where the page is already inside a client. */
  connections?: () => Promise<Connections>;
  /** Sign out; absent if there is no session. */
  leave?: () => Promise<void>;
}
