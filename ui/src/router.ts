// The current view of the page. In a browser it is part of the address, so that skills can be linked to.

import { skillPath, skillUri } from "./format";

export type View = "skills" | "sources" | "problems";

export interface Place {
  view: View;
  /** The URI of the open skill; empty for none. */
  skill: string;
}

export interface Router {
  place: Place;
  listen(listener: (place: Place) => void): void;
  go(place: Place): void;
  /** Return the address of a place, for links; null if places have no address. */
  address(place: Place): string | null;
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
    return place.skill ? `#/skills/${skillPath(place.skill)}` : `#/${place.view}`;
  }
}

function read(hash: string): Place {
  const [, view = "", ...rest] = hash.split("/");
  const skill = view === "skills" && rest.length ? skillUri(rest.join("/")) : "";
  return { view: view === "sources" || view === "problems" ? view : "skills", skill };
}
