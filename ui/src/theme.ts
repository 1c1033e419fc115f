// The theme: light, dark, or that of the system. The choice is stored in this browser.

import { fill, h, icon } from "./dom";
import { icons } from "./icons";

type Theme = "auto" | "light" | "dark";
const ORDER: Theme[] = ["auto", "light", "dark"];
const PICTURES = { auto: icons.auto, light: icons.sun, dark: icons.moon };
const NAMES = { auto: "system", light: "light", dark: "dark" };
const KEY = "skillwire-theme";

export function themeButton(): HTMLElement {
  let theme = storedTheme();
  const button = h("button", {
    class: "quiet square",
    id: "theme",
    onclick: () => {
      theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]!;
      store(theme);
      show();
    },
  });
  const show = () => {
    document.documentElement.dataset["theme"] = theme;
    button.setAttribute("aria-label", `Theme: ${NAMES[theme]}`);
    button.title = `Theme: ${NAMES[theme]}`;
    fill(button, icon(PICTURES[theme]));
  };
  show();
  return button;
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return ORDER.find((theme) => theme === stored) ?? "auto";
  } catch {
    return "auto"; // a browser may refuse storage, for example to local files
  }
}

function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice is lost when the page is closed.
  }
}
