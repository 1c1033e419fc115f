// Characters that the eye cannot see, made visible: they can turn a text into another one.

import { h } from "./dom";

// Control characters, bidirectional overrides and isolates, invisible spaces and joiners, tags.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Show every hidden character below `root` by its number. */
export function reveal(root: Node): void {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const parts: Node[] = [];
    let from = 0;
    for (const found of text.data.matchAll(HIDDEN)) {
      parts.push(document.createTextNode(text.data.slice(from, found.index)), mark(found[0]));
      from = found.index + found[0].length;
    }
    if (!parts.length) continue;
    parts.push(document.createTextNode(text.data.slice(from)));
    text.replaceWith(...parts);
  }
}

function mark(character: string): HTMLElement {
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return h("span", { class: "hidden-character", title: "A character that cannot be seen" }, `U+${code}`);
}
