// Make invisible characters visible. They can change how a text reads.

import { h } from "./dom";

// Control characters, bidirectional overrides and isolates, invisible spaces and joiners, tags.
const HIDDEN =
  /([\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}])\1*/gu;
const MAX_MARKS = 2_000;
/** Maximum number of marks. Further hidden characters are only counted, because more would slow down the page. */

/** Replace every hidden character below `root` by a mark with its code. Repeated characters share one mark. */
export function reveal(root: Node): void {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  let marks = 0;
  for (const text of texts) {
    const shown = document.createDocumentFragment();
    let plain = "";
    let from = 0;
    let left = 0;
    for (const found of text.data.matchAll(HIDDEN)) {
      plain += text.data.slice(from, found.index);
      from = found.index + found[0].length;
      if (marks >= MAX_MARKS) {
        left += [...found[0]].length;
        continue;
      }
      marks += 1;
      shown.append(plain, mark(found[1]!, [...found[0]].length));
      plain = "";
    }
    if (!from) continue;
    shown.append(plain + text.data.slice(from));
    if (left) shown.append(note(`${left} more invisible characters`));
    text.replaceWith(shown);
  }
}

/** Return the element with its hidden characters made visible. */
export function revealed<E extends Element>(element: E): E {
  reveal(element);
  return element;
}

function mark(character: string, times: number): HTMLElement {
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return note(`U+${code}${times > 1 ? ` ×${times}` : ""}`);
}

function note(text: string): HTMLElement {
  return h("span", { class: "hidden-character", title: "An invisible character" }, text);
}
