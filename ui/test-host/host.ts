// The smallest host of MCP Apps that is one: the reference bridge and client, and a page in a sandbox.
// `?server=URL&token=TOKEN&tool=NAME&arguments=JSON&theme=dark` calls the tool and shows its page.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  AppBridge,
  getToolUiResourceUri,
  isToolVisibilityAppOnly,
  type McpUiHostContext,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
} from "@modelcontextprotocol/ext-apps/app-bridge";

const asked = new URLSearchParams(location.search);
const seen = { links: [] as string[], sizes: [] as unknown[], called: [] as string[], appOnly: [] as string[] };
Object.assign(window, { seen });

function context(theme: "light" | "dark"): McpUiHostContext {
  return {
    theme,
    styles: {
      variables: { "--color-background-primary": theme === "dark" ? "#101820" : "#fffaf0", "--font-sans": "monospace" },
    } as NonNullable<McpUiHostContext["styles"]>,
    safeAreaInsets: { top: 11, right: 12, bottom: 13, left: 14 },
    containerDimensions: { height: 740 },
    displayMode: "inline",
  } as McpUiHostContext;
}

async function begin(): Promise<void> {
  const client = new Client({ name: "test-host", version: "1" });
  const headers = { Authorization: `Bearer ${asked.get("token") ?? ""}` };
  const server = new URL(asked.get("server")!);
  await client.connect(new StreamableHTTPClientTransport(server, { requestInit: { headers } }));
  const { tools } = await client.listTools();
  seen.appOnly = tools.filter(isToolVisibilityAppOnly).map((tool) => tool.name);
  const tool = tools.find((each) => each.name === asked.get("tool"))!;
  const page = await client.readResource({ uri: getToolUiResourceUri(tool)! });
  const [content] = page.contents as Array<{ mimeType?: string; text?: string }>;
  if (content?.mimeType !== RESOURCE_MIME_TYPE) throw new Error(`not a page: ${content?.mimeType}`);

  const frame = document.querySelector("iframe")!;
  const bridge = new AppBridge(
    client,
    { name: "test-host", version: "1" },
    { openLinks: {}, serverTools: {}, serverResources: {} },
    { hostContext: context(asked.get("theme") === "dark" ? "dark" : "light") },
  );
  bridge.onopenlink = async ({ url }) => {
    seen.links.push(url);
    return {};
  };
  bridge.onsizechange = (size) => void seen.sizes.push(size);
  const call = bridge.oncalltool;
  if (call) {
    bridge.oncalltool = (params, extra) => {
      seen.called.push(params.name);
      return call(params, extra);
    };
  }
  const argument = JSON.parse(asked.get("arguments") ?? "{}") as Record<string, unknown>;
  bridge.oninitialized = () => {
    void (async () => {
      await bridge.sendToolInput({ arguments: argument });
      await bridge.sendToolResult(await client.callTool({ name: tool.name, arguments: argument }));
    })();
  };
  Object.assign(window, { retheme: (theme: "light" | "dark") => bridge.setHostContext(context(theme)) });
  await bridge.connect(new PostMessageTransport(frame.contentWindow!, frame.contentWindow!));
  frame.srcdoc = content.text ?? "";
}

begin().catch((error: unknown) => {
  document.body.append(String(error));
});
