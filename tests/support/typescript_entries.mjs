// The official TypeScript SDK's server, over stdio, with entries from a file. It lists those that the SDK accepts.
//
//   node typescript_entries.mjs PACKAGES ENTRIES    PACKAGES is the folder that the SDK was installed in
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, entries] = process.argv.slice(2);
const installed = createRequire(`${packages}/`);
const { McpServer } = installed("@modelcontextprotocol/server");
const { serveStdio } = installed("@modelcontextprotocol/server/stdio");
const { SkillsExtension } = installed("@modelcontextprotocol/server/ext/skills");

const skills = JSON.parse(readFileSync(entries, "utf8"));
const source = { list: async () => ({ skills }), get: async () => undefined, read: async () => undefined };
const extension = new SkillsExtension({ source, onWarning: () => {} });
serveStdio(() => {
  const server = new McpServer({ name: "typescript", version: "1.0.0" });
  extension.attach(server);
  return server;
});
