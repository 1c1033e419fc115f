// The pages in a browser. Asks for the token first if the server requires one.

import { Failure } from "./backend";
import { fill, h, icon } from "./dom";
import { HttpBackend } from "./http";
import { icons } from "./icons";
import { empty } from "./pieces";
import { AddressRouter } from "./router";
import { Shell } from "./shell";
import "./styles/all.css";
import { themeButton } from "./theme";

const page = document.getElementById("page")!;
const backend = new HttpBackend();
const theme = themeButton();

async function begin(): Promise<void> {
  try {
    const unused = await redeemed();
    if (await backend.begin()) open(unused);
    else door();
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(String(error));
    fill(
      page,
      h(
        "main",
        { class: "door" },
        empty(
          icons.error,
          failure.message,
          h("p", null, failure.hint),
          h("button", { class: "primary", onclick: () => void begin() }, "Try again"),
        ),
      ),
    );
  }
}

/** Use the one-time key in the address, if there is one. Return the failure if it cannot be used. */
async function redeemed(): Promise<Failure | null> {
  try {
    await backend.redeem();
    return null;
  } catch (error) {
    if (error instanceof Failure && !error.lost) return error;
    throw error;
  }
}

function open(unused: Failure | null = null): void {
  const tools = [theme];
  const { leave } = backend;
  if (leave) {
    const forget = () => void leave().finally(() => location.reload());
    tools.push(
      h("button", { class: "quiet square", "aria-label": "Sign out", title: "Sign out", onclick: forget }, icon(icons.leave)),
    );
  }
  const shell = new Shell(backend, new AddressRouter(), door, tools);
  fill(page, shell.element);
  if (unused) shell.fail(unused);
  shell.begin();
}

function door(): void {
  document.title = "Sign in · Skillwire";
  const field = h("input", { id: "token", type: "password", required: true, autocomplete: "current-password" });
  const wrong = h("p", { class: "wrong", role: "alert" });
  const enter = async (event: Event) => {
    event.preventDefault();
    wrong.textContent = "";
    try {
      await backend.enter(field.value.trim());
      open();
    } catch (error) {
      wrong.textContent = error instanceof Failure ? `${error.message}.` : String(error);
      field.select();
    }
  };
  fill(
    page,
    h(
      "main",
      { class: "door" },
      h(
        "form",
        { class: "card", onsubmit: (event: Event) => void enter(event) },
        icon(icons.mark, "icon mark large"),
        h("h1", null, "Skillwire"),
        h("p", null, "This server requires a token: the same one that MCP clients send. This browser stays signed in until you sign out."),
        h("label", { for: "token" }, "Token"),
        field,
        wrong,
        h("button", { class: "primary", type: "submit" }, "Sign in"),
      ),
    ),
  );
  field.focus();
}

// Opening an address with a key in a tab that already shows the page changes only the fragment: reload.
window.addEventListener("hashchange", () => location.hash.startsWith("#key=") && location.reload());

void begin();
