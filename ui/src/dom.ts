// Helpers to create elements. Text is never parsed as HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

/** Create an element. `on…` functions are listeners, others are attributes; false, null and undefined are omitted. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2).toLowerCase(), value as EventListener);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  put(element, children);
  return element;
}

function put(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) put(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (child !== null && child !== undefined && child !== false) {
      parent.appendChild(document.createTextNode(String(child)));
    }
  }
}

/** Replace the children of an element. */
export function fill(element: Element, ...children: Child[]): void {
  const fragment = document.createDocumentFragment();
  put(fragment, children);
  element.replaceChildren(fragment);
}

/** Redraw a part of the page. The element with the focus keeps it, and what was typed stays. */
export function redraw(root: Element, draw: () => void): void {
  const active = document.activeElement;
  const within = active instanceof HTMLElement && root.contains(active) && active !== root ? active : null;
  const key = within ? keyOf(within) : "";
  const typed = within instanceof HTMLInputElement && within.type !== "checkbox" ? within : null;
  const open = new Set([...root.querySelectorAll("details[open]")].map((each) => each.className));
  draw();
  for (const each of root.querySelectorAll("details")) each.open = open.has(each.className);
  if (!within || within.isConnected || !key) return;
  const again = [...root.querySelectorAll<HTMLElement>("[data-key], [id]")].find((each) => keyOf(each) === key);
  if (!again) return;
  if (typed && again instanceof HTMLInputElement) {
    again.value = typed.value;
    again.focus({ preventScroll: true });
    again.setSelectionRange(typed.selectionStart, typed.selectionEnd);
  } else again.focus({ preventScroll: true });
}

function keyOf(element: HTMLElement): string {
  return element.dataset["key"] ?? element.id;
}

const SVG = "http://www.w3.org/2000/svg";

/** Return a line icon of 24 by 24. It is hidden from screen readers. */
export function icon(path: string, className = "icon"): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  const attributes = { viewBox: "0 0 24 24", class: className, "aria-hidden": "true", focusable: "false" };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.appendChild(line);
  return svg;
}
