// A list of any length that creates only the visible rows. It is one tab stop; arrow keys move inside.

import { fill, h } from "./dom";
import type { Items, Section } from "./rows";
import { BEYOND } from "./rows";

interface Options<T> {
  label: string;
  key: (item: T) => string;
  row: (item: T) => Node[];
  /** What to show in place of a row that is not loaded yet. */
  waiting: () => Node[];
  /** What else a row depends on. A row is drawn again when it changes. */
  look: (item: T) => string;
  /** Called for Escape. */
  left: () => void;
  chosen: (item: T) => void;
  /** Called when scrolling has stopped. */
  settled: () => void;
}

interface Row<T> {
  item: T | undefined;
  at: number;
  look: string;
  element: HTMLElement;
}

const HIGHEST = 12_000_000;
/** Maximum height in pixels. Browsers cut higher elements off. */
const STILL = 200;
/** Milliseconds without scrolling after which it has stopped. */

export class VirtualList<T> {
  readonly element: HTMLElement;
  private readonly runway: HTMLElement;
  private readonly rows = new Map<string, Row<T>>();
  private items: Items<T>;
  private active = -1;
  private chosen = -1;
  private current = "";
  private height = 0;
  private top = 0;
  private drawing = false;
  private timer = 0;

  constructor(private readonly options: Options<T>) {
    this.items = { length: 0, at: () => undefined, indexOf: () => -1, need: () => undefined };
    this.runway = h("div", { class: "runway", role: "presentation" });
    this.element = h(
      "div",
      {
        class: "list",
        role: "listbox",
        tabindex: "0",
        "aria-label": options.label,
        onkeydown: (event: KeyboardEvent) => this.pressed(event),
        onscroll: () => this.scrolled(),
        // Not after a click: the row under the pointer must not move.
        onfocus: () => this.element.matches(":focus-visible") && this.activate(Math.max(0, this.active), false),
      },
      this.runway,
    );
    new ResizeObserver(() => {
      this.height = 0; // the row height may depend on the width
      if (!this.element.clientHeight) return;
      this.stretch();
      this.scrollTo(this.top); // a list that was not displayed has lost its place
      this.draw();
    }).observe(this.element);
  }

  /** Show these items. The first visible item keeps its place, and the active one stays active. */
  show(items: Items<T>, fromTheTop: boolean): void {
    if (items === this.items && !fromTheTop) return this.draw();
    const { key, at } = this.section();
    const active = this.keyAt(this.active);
    this.items = items;
    this.height = 0; // results of a search have higher rows
    const now = key && this.top > 0 ? items.indexOf(key) : -1;
    const moved = now >= 0 ? now - at : 0;
    const still = active ? items.indexOf(active) : -1;
    // The active item may be in a part of the list that is not loaded.
    this.active = fromTheTop || this.active < 0 || still >= 0 ? still : this.active + moved;
    this.stretch();
    this.scrollTo(fromTheTop ? 0 : this.top + moved * this.rowHeight());
    this.draw();
  }

  /** Return what the list shows. */
  section(): Section {
    const at = Math.floor(this.top / this.rowHeight());
    return { key: this.keyAt(at), at, rows: Math.ceil(this.element.clientHeight / this.rowHeight()) + 1 };
  }

  /** Mark the item that is open beside the list. */
  select(key: string): void {
    if (key === this.current) return;
    this.current = key;
    this.draw();
  }

  /** Scroll to the open item, if it is in the list. */
  reveal(): void {
    const at = this.items.indexOf(this.current);
    if (at < 0) return;
    this.active = at;
    const top = at * this.rowHeight();
    const { clientHeight } = this.element;
    if (top < this.top || top + this.rowHeight() > this.top + clientHeight) {
      this.scrollTo(top - (clientHeight - this.rowHeight()) / 2);
    }
    this.draw();
  }

  /** Scroll so that the item with this key is the first one. */
  begin(key: string): void {
    const at = this.items.indexOf(key);
    if (at > 0) this.scrollTo(at * this.rowHeight());
    this.draw();
  }

  focus(): void {
    this.element.focus();
  }

  private keyAt(at: number): string {
    const item = this.items.at(at);
    return item === undefined ? "" : this.options.key(item);
  }

  private pressed(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight()) - 1);
    const last = this.items.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: last,
    };
    const to = moves[event.key];
    this.chosen = -1;
    if (to !== undefined) this.activate(Math.min(last, Math.max(0, to)));
    else if (event.key === "Enter" || event.key === " ") this.choose(this.active);
    else if (event.key === "Escape") this.options.left();
    else return;
    event.preventDefault();
  }

  private activate(at: number, draw = true): void {
    if (at < 0 || at >= this.items.length) return;
    this.active = at;
    const top = at * this.rowHeight();
    const { clientHeight } = this.element;
    if (top < this.top) this.scrollTo(top);
    else if (top + this.rowHeight() > this.top + clientHeight) this.scrollTo(top + this.rowHeight() - clientHeight);
    if (draw) this.drawNow();
    else this.draw();
  }

  /** Open an item, as soon as it is loaded. */
  private choose(at: number): void {
    const item = this.items.at(at);
    this.chosen = item === undefined ? at : -1;
    if (item !== undefined) this.options.chosen(item);
  }

  private rowHeight(): number {
    if (!this.height) {
      const style = getComputedStyle(this.element).getPropertyValue("--row");
      this.height = parseFloat(style) || 80;
    }
    return this.height;
  }

  /** The height of all rows. */
  private get full(): number {
    return this.items.length * this.rowHeight();
  }

  /** How many pixels of the rows one pixel of the scroll bar stands for. */
  private get scale(): number {
    const room = this.element.clientHeight;
    return this.full <= HIGHEST ? 1 : (this.full - room) / (HIGHEST - room);
  }

  /** Set the scroll height for all items. */
  private stretch(): void {
    this.runway.style.height = `${Math.min(this.full, HIGHEST)}px`;
  }

  private scrollTo(top: number): void {
    this.top = Math.max(0, Math.min(top, this.full - this.element.clientHeight));
    const to = this.top / this.scale;
    if (Math.abs(this.element.scrollTop - to) >= 1) this.element.scrollTop = to;
  }

  private scrolled(): void {
    if (!this.element.clientHeight) return; // the list is not displayed
    const top = this.element.scrollTop * this.scale;
    if (Math.abs(top - this.top) > this.scale) this.top = top; // not if it was only rounded
    this.draw();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.options.settled, STILL);
  }

  private draw(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => this.drawNow());
  }

  private drawNow(): void {
    this.drawing = false;
    const height = this.rowHeight();
    this.stretch();
    const first = Math.max(0, Math.floor(this.top / height) - BEYOND);
    const end = Math.min(
      this.items.length,
      Math.ceil((this.top + this.element.clientHeight) / height) + BEYOND,
    );
    this.items.need(first, end);
    // Rows are placed where the scroll bar is, which is elsewhere in a list that is higher than its element.
    const shift = this.element.scrollTop - this.top;
    const keys: string[] = [];
    for (let at = first; at < end; at += 1) keys.push(this.drawRow(at, at * height + (this.scale > 1 ? shift : 0)));
    const seen = new Set(keys);
    for (const [key, row] of this.rows) {
      if (!seen.has(key)) {
        row.element.remove();
        this.rows.delete(key);
      }
    }
    // Screen readers read the rows in the order of the document.
    let next = this.runway.firstChild;
    for (const key of keys) {
      const { element } = this.rows.get(key)!;
      if (element === next) next = next.nextSibling;
      else this.runway.insertBefore(element, next);
    }
    const focused = this.rows.get(this.rowKey(this.active));
    if (focused) this.element.setAttribute("aria-activedescendant", focused.element.id);
    else this.element.removeAttribute("aria-activedescendant");
    if (this.chosen >= 0 && this.items.at(this.chosen) !== undefined) this.choose(this.chosen);
  }

  private rowKey(at: number): string {
    return this.keyAt(at) || `waiting-${at}`;
  }

  private drawRow(at: number, top: number): string {
    const item = this.items.at(at);
    const key = this.rowKey(at);
    const look = item === undefined ? "" : this.options.look(item);
    let row = this.rows.get(key);
    if (!row || row.item !== item || row.look !== look) {
      row ??= { item, at, look, element: this.newRow(key) };
      this.rows.set(key, row);
      row.item = item;
      row.look = look;
      fill(row.element, item === undefined ? this.options.waiting() : this.options.row(item));
    }
    row.at = at;
    row.element.style.top = `${top}px`;
    row.element.setAttribute("aria-setsize", String(this.items.length));
    row.element.setAttribute("aria-posinset", String(at + 1));
    row.element.setAttribute("aria-selected", String(item !== undefined && key === this.current));
    row.element.classList.toggle("active", at === this.active);
    return key;
  }

  private newRow(key: string): HTMLElement {
    const element = h("div", { class: "row", role: "option", id: `row-${key}` });
    element.addEventListener("click", () => {
      this.active = this.rows.get(key)?.at ?? -1;
      this.choose(this.active);
    });
    this.runway.appendChild(element);
    return element;
  }
}
