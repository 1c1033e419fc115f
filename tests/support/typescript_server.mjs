// The official TypeScript SDK's server with its Skills extension, over stdio, for tests of our host.
//
//   node typescript_server.mjs PACKAGES SKILLS    PACKAGES is the folder that the SDK was installed in
import { createRequire } from "node:module";

const [packages, folder] = process.argv.slice(2);
const installed = createRequire(`${packages}/`);
const { McpServer } = installed("@modelcontextprotocol/server");
const { serveStdio } = installed("@modelcontextprotocol/server/stdio");
const { loadSkills } = installed("@modelcontextprotocol/server/ext/skills/node");

const skills = await loadSkills(folder, { pageSize: 2 });
serveStdio(() => {
  const server = new McpServer({ name: "typescript", version: "1.0.0" });
  skills.attach(server);
  return server;
});
