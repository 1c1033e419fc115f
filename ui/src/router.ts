// The current view of the page. In a browser it is part of the address, so that skills can be linked to.

import { skillPath, skillUri } from "./format";

export type View = "skills" | "sources" | "problems" | "connect";

/** Which problems are shown. An empty string stands for all. */
export interface Filter {
  severity: string;
  rule: string;
  source: string;
}

export const EVERYTHING: Filter = { severity: "", rule: "", source: "" };

export interface Place {
  view: View;
  /** The URI of the open skill; empty for none. */
  skill: string;
  /** Which problems are shown. Absent in other views. */
  filter?: Filter;
}

/** The place in the list of skills: the first one that is shown, and what is searched for. */
export interface Memory {
  top: string;
  query: string;
}

const NOTHING: Memory = { top: "", query: "" };

export interface Router {
  place: Place;
  listen(listener: (place: Place) => void): void;
  go(place: Place): void;
  /** Return the address of a place, for links; null if places have no address. */
  address(place: Place): string | null;
  /** Remember the place in the list with this entry of the browser's history. */
  remember(memory: Memory): void;
  /** Return what was remembered, also after a reload. */
  remembered(): Memory;
}

export class MemoryRouter implements Router {
  private readonly listeners: Array<(place: Place) => void> = [];

  constructor(public place: Place) {}

  listen(listener: (place: Place) => void): void {
    this.listeners.push(listener);
  }

  go(place: Place): void {
    this.place = place;
    for (const listener of this.listeners) listener(place);
  }

  address(_place: Place): string | null {
    return null;
  }

  remember(_memory: Memory): void {
    // An app is never reloaded.
  }

  remembered(): Memory {
    return NOTHING;
  }
}

export class AddressRouter extends MemoryRouter {
  constructor() {
    super(read(location.hash));
    window.addEventListener("hashchange", () => super.go(read(location.hash)));
  }

  override go(place: Place): void {
    const hash = this.address(place);
    if (hash === location.hash) super.go(place);
    else location.hash = hash;
  }

  override address(place: Place): string {
    if (place.skill) return `#/skills/${skillPath(place.skill)}`;
    const chosen = Object.entries(place.filter ?? {}).filter(([, value]) => value !== "");
    return `#/${place.view}${chosen.length ? `?${new URLSearchParams(chosen)}` : ""}`;
  }

  override remember(memory: Memory): void {
    history.replaceState(memory, "");
  }

  override remembered(): Memory {
    const { top, query } = { ...NOTHING, ...(history.state as Partial<Memory> | null) };
    return { top: String(top), query: String(query) };
  }
}

function read(hash: string): Place {
  const [, view = "", ...rest] = hash.split("/");
  if (view === "skills") return { view, skill: rest.length ? skillUri(rest.join("/")) : "" };
  if (view === "sources" || view === "connect") return { view, skill: "" };
  const [name, query = ""] = hash.slice(2).split("?", 2);
  if (name !== "problems") return { view: "skills", skill: "" };
  const given = new URLSearchParams(query);
  const filter = { severity: given.get("severity") ?? "", rule: given.get("rule") ?? "", source: given.get("source") ?? "" };
  return { view: "problems", skill: "", filter };
}
