// The pages inside an MCP Apps host. They use its theme, fonts and safe areas.

import {
  App,
  applyDocumentTheme,
  applyHostFonts,
  applyHostStyleVariables,
  type McpUiHostContext,
} from "@modelcontextprotocol/ext-apps";

import { fill, h } from "./dom";
import { HostBackend } from "./host";
import { icons } from "./icons";
import { empty } from "./pieces";
import { MemoryRouter } from "./router";
import { Shell } from "./shell";
import "./styles/all.css";
import "./styles/hosted.css";

const HEIGHT = 680;
const SIDES = ["top", "right", "bottom", "left"] as const;

const root = document.documentElement;
const page = document.getElementById("page")!;

function adopt(context: Partial<McpUiHostContext>): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (context.theme) applyDocumentTheme(context.theme);
  else if (!root.dataset["theme"]) applyDocumentTheme(dark ? "dark" : "light");
  if (context.styles?.variables) applyHostStyleVariables(context.styles.variables);
  if (context.styles?.css?.fonts) applyHostFonts(context.styles.css.fonts);
  for (const side of context.safeAreaInsets ? SIDES : []) {
    root.style.setProperty(`--safe-${side}`, `${context.safeAreaInsets![side]}px`);
  }
  const room = context.containerDimensions as { height?: number; maxHeight?: number } | undefined;
  if (room) {
    const height = room.height ?? Math.min(HEIGHT, room.maxHeight ?? HEIGHT);
    root.style.setProperty("--hosted-height", `${height}px`);
  }
}

async function begin(): Promise<void> {
  const app = new App({ name: "skillwire", version: "1" }, {});
  const view = root.dataset["view"] === "config" ? "sources" : "skills";
  const router = new MemoryRouter({ view, skill: "" });
  const shell = new Shell(new HostBackend(app), router, () => undefined, []);
  app.addEventListener("hostcontextchanged", adopt);
  app.addEventListener("toolinput", ({ arguments: given }) => {
    const query = given?.["query"];
    if (typeof query === "string" && query) shell.search(query);
  });
  app.addEventListener("toolresult", ({ structuredContent }) => {
    const shown = structuredContent as { skill?: { uri?: unknown } } | undefined;
    const uri = shown?.skill?.uri;
    if (typeof uri === "string") router.go({ view: "skills", skill: uri });
  });
  adopt({});
  fill(page, shell.element);
  try {
    await app.connect();
  } catch (error) {
    fill(page, empty(icons.error, "The host does not answer", h("p", null, String(error))));
    return;
  }
  adopt(app.getHostContext() ?? {});
  shell.begin();
}

void begin();
