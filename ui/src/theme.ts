// Light, dark, or as the system is. The choice is kept in this browser.

import { fill, h, icon } from "./dom";
import { icons } from "./icons";

type Theme = "auto" | "light" | "dark";
const ORDER: Theme[] = ["auto", "light", "dark"];
const PICTURES = { auto: icons.auto, light: icons.sun, dark: icons.moon };
const NAMES = { auto: "as the system is", light: "light", dark: "dark" };
const KEY = "skillwire-theme";

export function themeButton(): HTMLElement {
  let theme = remembered();
  const button = h("button", {
    class: "quiet square",
    id: "theme",
    onclick: () => {
      theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]!;
      localStorage.setItem(KEY, theme);
      show();
    },
  });
  const show = () => {
    document.documentElement.dataset["theme"] = theme;
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}`);
    button.title = `Colours: ${NAMES[theme]}`;
    fill(button, icon(PICTURES[theme]));
  };
  show();
  return button;
}

function remembered(): Theme {
  const kept = localStorage.getItem(KEY);
  return ORDER.find((theme) => theme === kept) ?? "auto";
}
