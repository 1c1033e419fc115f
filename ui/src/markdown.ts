// Render untrusted Markdown as inert elements: no scripts, no styles, no requests.

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

import { reveal } from "./hidden";

const TAGS = [
  ...["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p"],
  ...["pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"],
];
const ATTRIBUTES = ["href", "start", "class"]; // no `title`: invisible characters in a tooltip cannot be made visible
const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n[\s\S]*?\r?\n---[ \t]*(?:\r?\n|$)/;
const MAX_CHARACTERS = 400_000;
/** Maximum length of a text that is rendered. A longer one is shown raw, because rendering it would be slow. */

// HTML inside Markdown is shown as text.
const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
markdown.renderer.rules["image"] = (tokens, at) => {
  const text = markdown.utils.escapeHtml(tokens[at]?.content || "without a description");
  return `<span class="image">image: ${text}</span>`;
};

export interface Links {
  /** A link to a file of the same skill. */
  inside: (path: string) => void;
  outside: (url: string) => void;
}

/** Return the elements of a document, or null if it is too long to be rendered. */
export function render(text: string, links: Links): DocumentFragment | null {
  const body = text.replace(FRONTMATTER, "");
  if (body.length > MAX_CHARACTERS) return null;
  const fragment = DOMPurify.sanitize(markdown.render(body), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) follow(link, links);
  reveal(fragment);
  return fragment;
}

/** Make a link open a file of the skill or an external page. Other links become plain text. */
function follow(link: HTMLAnchorElement, links: Links): void {
  const target = link.getAttribute("href") ?? "";
  link.removeAttribute("class");
  if (/^https?:\/\//i.test(target) && URL.canParse(target)) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    link.addEventListener("click", (event) => {
      event.preventDefault();
      links.outside(link.href);
    });
  } else if (/^[a-z][a-z0-9+.-]*:|^\/|^#|^\\/i.test(target) || !target) {
    link.removeAttribute("href");
  } else {
    const path = new URL(target, "skill://x/").pathname.slice(1).split("#")[0] ?? "";
    link.href = "#";
    link.addEventListener("click", (event) => {
      event.preventDefault();
      links.inside(decoded(path));
    });
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path.replace(/^\/+/, ""));
  } catch {
    return path;
  }
}
