// The page of a published site. The skills are in the document; this adds the search, copying and the theme.

import { h } from "./dom";
import { number } from "./format";
import "./styles/site.css";
import { themeButton } from "./theme";

const PLACEHOLDER = "https://YOUR-SITE";
const COPIED = 2000;

const skills = [...document.querySelectorAll<HTMLElement>("#skills > li")];
const texts = skills.map((each) => (each.querySelector(".says")?.textContent ?? "").toLowerCase());
const tally = document.getElementById("tally")!;
const everything = tally.textContent;
const field = document.getElementById("search") as HTMLInputElement;

function search(): void {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  skills.forEach((skill, at) => {
    const matches = words.every((word) => texts[at]!.includes(word));
    if (skill.hidden === matches) skill.hidden = !matches;
    if (matches) found += 1;
  });
  tally.textContent = words.length ? `${number(found)} of ${everything}` : everything;
  document.getElementById("none")!.hidden = found > 0;
}

/** Put the address of this site into the commands. A file on a disk has none. */
function address(): void {
  if (!/^https?:$/.test(location.protocol)) return;
  const here = new URL(".", location.href).href.replace(/\/$/, "");
  if (!/^https?:\/\/[A-Za-z0-9.:[\]_/~%-]+$/.test(here)) return; // a shell must not see anything else in it
  for (const code of document.querySelectorAll("pre code")) {
    code.textContent = code.textContent!.replaceAll(PLACEHOLDER, here);
  }
  if (location.pathname !== "/" && location.pathname !== "/index.html") {
    for (const each of document.querySelectorAll<HTMLElement>(".at-root")) each.hidden = true;
  }
  for (const note of document.querySelectorAll<HTMLElement>(".placeholder")) note.hidden = true;
}

function copying(pre: HTMLElement): void {
  const copy = h("button", { class: "small", type: "button" }, "Copy");
  copy.addEventListener("click", () => {
    void navigator.clipboard
      .writeText(pre.textContent!.trim())
      .then(() => (copy.textContent = "Copied"))
      .catch(() => (copy.textContent = "Copying is not allowed"))
      .finally(() => setTimeout(() => (copy.textContent = "Copy"), COPIED));
  });
  pre.after(copy);
}

address();
// Buttons are made when a part is opened: thousands of them would take time.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!(target instanceof HTMLDetailsElement) || !target.open || target.dataset["ready"]) return;
    target.dataset["ready"] = "yes";
    for (const pre of target.querySelectorAll<HTMLElement>("pre")) copying(pre);
  },
  true,
);
document.getElementById("tools")!.append(themeButton());
document.getElementById("searching")!.hidden = false;
field.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && event.target !== field) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "Escape" && event.target === field) {
    field.value = "";
    search();
  }
});
search();
