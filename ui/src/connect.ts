// The connect view: how to add this server to each MCP client. It never contains a token.

import type { ClientEntry, Connections } from "./backend";
import { Failure } from "./backend";
import { copyButton } from "./copy";
import type { Child } from "./dom";
import { fill, h, redraw } from "./dom";
import { icons } from "./icons";
import type { Notices } from "./notices";
import { empty, literals } from "./pieces";
import type { Store } from "./store";

export class ConnectView {
  private readonly content = h("div", { class: "connect" });
  readonly element = h(
    "div",
    { class: "sheet", role: "region", "aria-label": "Connect a client", tabindex: "0" },
    h("header", { class: "sheet-head" }, h("h1", null, "Connect a client")),
    this.content,
  );
  private chosen = "";
  private drawn = "";

  constructor(
    private readonly store: Store,
    private readonly notices: Notices,
  ) {}

  /** Load how to connect, and show it. */
  async show(): Promise<void> {
    try {
      const found = await this.store.backend.connections?.();
      const drawn = JSON.stringify(found);
      if (!found || drawn === this.drawn) return;
      this.drawn = drawn;
      redraw(this.element, () => this.draw(found));
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(String(error));
      this.drawn = "";
      const retry = h("button", { class: "primary", onclick: () => void this.show() }, "Try again");
      fill(this.content, empty(icons.error, failure.message, failure.hint && h("p", null, literals(failure.hint)), retry));
    }
  }

  private draw(found: Connections): void {
    this.chosen ||= found.clients[0]?.client ?? "";
    const panel = h("div", { class: "card panel", role: "tabpanel", id: "client-panel", tabindex: "0" });
    const buttons = found.clients.map((each) =>
      h(
        "button",
        {
          role: "tab",
          id: `client-${each.client}`,
          "aria-controls": "client-panel",
          onclick: () => turn(each),
        },
        each.title,
      ),
    );
    const turn = (client: ClientEntry) => {
      this.chosen = client.client;
      buttons.forEach((button, at) => {
        const selected = found.clients[at] === client;
        button.setAttribute("aria-selected", String(selected));
        button.tabIndex = selected ? 0 : -1;
      });
      panel.setAttribute("aria-labelledby", `client-${client.client}`);
      fill(panel, this.client(client, found));
    };
    const moved = (event: KeyboardEvent) => {
      const now = found.clients.findIndex((each) => each.client === this.chosen);
      const last = found.clients.length - 1;
      const to = { ArrowRight: now === last ? 0 : now + 1, ArrowLeft: now ? now - 1 : last, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      turn(found.clients[to]!);
      buttons[to]!.focus();
    };
    const first = found.clients.find((each) => each.client === this.chosen) ?? found.clients[0];
    if (first) turn(first);
    fill(
      this.content,
      h(
        "p",
        { class: "address" },
        "This server: ",
        h("code", null, found.url),
        copyButton(found.url, "Copy the address of this server", this.notices),
      ),
      h("div", { class: "clients", role: "tablist", "aria-label": "Client", onkeydown: moved }, buttons),
      panel,
    );
  }

  private client(client: ClientEntry, found: Connections): Child[] {
    return [
      client.command && [
        h("h2", null, "With one command"),
        h("p", null, `${client.title} then starts its own server for the same folders. This server does not have to run.`),
        this.snippet(client.command, "the command"),
      ],
      h("h2", null, client.command ? "Or connect it to this server" : "Connect it to this server"),
      client.text
        ? [
            h("p", null, "Add this to ", h("code", null, client.file), ". If the file has other content, keep it."),
            this.snippet(client.text, "the entry"),
          ]
        : null,
      client.text && found.token && h(
        "p",
        { class: "reason" },
        "This server requires a token. For your safety, no token is shown here: also give the client the header ",
        h("code", null, "Authorization: Bearer YOUR_TOKEN"),
        ", with your token in place of ",
        h("code", null, "YOUR_TOKEN"),
        ".",
      ),
      client.link && h("p", null, h("a", { class: "button", href: client.link, rel: "noreferrer" }, `Add to ${client.title}`)),
      client.note && h("p", { class: "quiet-text" }, literals(client.note)),
      client.text && client.nextStep && h("p", { class: "quiet-text" }, "Then: ", literals(client.nextStep)),
    ];
  }

  private snippet(text: string, what: string): HTMLElement {
    return h(
      "div",
      { class: "snippet" },
      h("pre", { class: "raw", tabindex: "0", role: "region", "aria-label": what }, text),
      copyButton(text, `Copy ${what}`, this.notices, "Copy"),
    );
  }
}
