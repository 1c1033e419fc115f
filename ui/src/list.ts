// A list of any length that creates only the visible rows. It is one tab stop; arrow keys move inside.

import { fill, h } from "./dom";

interface Options<T> {
  label: string;
  key: (item: T) => string;
  row: (item: T) => Node[];
  /** What else a row depends on. A row is drawn again when it changes. */
  look: (item: T) => string;
  /** Called for Escape. */
  left: () => void;
  chosen: (item: T) => void;
}

const BEYOND = 6;
/** Additional rows above and below the visible ones, so that fast scrolling shows no gaps. */

export class VirtualList<T> {
  readonly element: HTMLElement;
  private readonly runway: HTMLElement;
  private readonly rows = new Map<string, { item: T; look: string; element: HTMLElement }>();
  private items: T[] = [];
  private active = -1;
  private current = "";
  private height = 0;
  private drawing = false;

  constructor(private readonly options: Options<T>) {
    this.runway = h("div", { class: "runway", role: "presentation" });
    this.element = h(
      "div",
      {
        class: "list",
        role: "listbox",
        tabindex: "0",
        "aria-label": options.label,
        onkeydown: (event: KeyboardEvent) => this.pressed(event),
        onscroll: () => this.draw(),
        // Not after a click: the row under the pointer must not move.
        onfocus: () => this.element.matches(":focus-visible") && this.activate(Math.max(0, this.active), false),
      },
      this.runway,
    );
    new ResizeObserver(() => {
      this.height = 0; // the row height may depend on the width
      this.draw();
    }).observe(this.element);
  }

  /** Show these items. The active item stays active if it is still among them. */
  show(items: T[], fromTheTop: boolean): void {
    const key = this.active >= 0 ? this.keyAt(this.active) : "";
    this.items = items;
    this.height = 0; // results of a search have higher rows
    this.active = key ? items.findIndex((item) => this.options.key(item) === key) : -1;
    this.stretch();
    if (fromTheTop) this.element.scrollTop = 0;
    this.draw();
  }

  /** Mark the item that is open beside the list. */
  select(key: string): void {
    if (key === this.current) return;
    this.current = key;
    this.draw();
  }

  /** Scroll to the open item, if it is in the list. */
  reveal(): void {
    const at = this.items.findIndex((item) => this.options.key(item) === this.current);
    if (at < 0) return;
    this.active = at;
    const { scrollTop, clientHeight } = this.element;
    const top = at * this.rowHeight();
    if (top < scrollTop || top + this.rowHeight() > scrollTop + clientHeight) {
      this.element.scrollTop = top - (clientHeight - this.rowHeight()) / 2;
    }
    this.draw();
  }

  focus(): void {
    this.element.focus();
  }

  private keyAt(at: number): string {
    const item = this.items[at];
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
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight() > scrollTop + clientHeight) {
      this.element.scrollTop = top + this.rowHeight() - clientHeight;
    }
    if (draw) this.drawNow();
    else this.draw();
  }

  private choose(at: number): void {
    const item = this.items[at];
    if (item !== undefined) this.options.chosen(item);
  }

  private rowHeight(): number {
    if (!this.height) {
      const style = getComputedStyle(this.element).getPropertyValue("--row");
      this.height = parseFloat(style) || 80;
    }
    return this.height;
  }

  /** Set the scroll height for all items. */
  private stretch(): void {
    this.runway.style.height = `${this.items.length * this.rowHeight()}px`;
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
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - BEYOND);
    const end = Math.min(
      this.items.length,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / height) + BEYOND,
    );
    const seen = new Set<string>();
    for (let at = first; at < end; at += 1) seen.add(this.drawRow(at, height));
    for (const [key, row] of this.rows) {
      if (!seen.has(key)) {
        row.element.remove();
        this.rows.delete(key);
      }
    }
    // Screen readers read the rows in the order of the document.
    let next = this.runway.firstChild;
    for (let at = first; at < end; at += 1) {
      const { element } = this.rows.get(this.keyAt(at))!;
      if (element === next) next = next.nextSibling;
      else this.runway.insertBefore(element, next);
    }
    const focused = this.rows.get(this.keyAt(this.active));
    if (focused) this.element.setAttribute("aria-activedescendant", focused.element.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  private drawRow(at: number, height: number): string {
    const item = this.items[at]!;
    const key = this.options.key(item);
    const look = this.options.look(item);
    let row = this.rows.get(key);
    if (!row) {
      const element = h("div", { class: "row", role: "option", id: `row-${key}` });
      element.addEventListener("click", () => {
        this.active = this.items.findIndex((each) => this.options.key(each) === key);
        this.choose(this.active);
      });
      row = { item, look, element };
      fill(element, this.options.row(item));
      this.rows.set(key, row);
      this.runway.appendChild(element);
    } else if (row.item !== item || row.look !== look) {
      row.item = item;
      row.look = look;
      fill(row.element, this.options.row(item));
    }
    row.element.style.transform = `translateY(${at * height}px)`;
    row.element.setAttribute("aria-setsize", String(this.items.length));
    row.element.setAttribute("aria-posinset", String(at + 1));
    row.element.setAttribute("aria-selected", String(key === this.current));
    row.element.classList.toggle("active", at === this.active);
    return key;
  }
}
