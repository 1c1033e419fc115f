// The official TypeScript SDK's skills server, as its documentation sets it up.
//
//   node typescript.mjs PACKAGES stdio|PORT ROOT
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, where, root] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = name => import(pathToFileURL(require.resolve(name).replace(/\.cjs$/, '.mjs')));

const { McpServer, createMcpHandler } = await load('@modelcontextprotocol/server');
const { loadSkills } = await load('@modelcontextprotocol/server/ext/skills/node');

const skills = await loadSkills(root, { cacheHint: { ttlMs: 5000, cacheScope: 'public' } });
const make = () => {
    const server = new McpServer({ name: 'typescript-sdk', version: '1' });
    skills.attach(server);
    return server;
};

if (where === 'stdio') {
    const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
    serveStdio(make);
} else {
    const { toNodeHandler } = await load('@modelcontextprotocol/node');
    createServer(toNodeHandler(createMcpHandler(make))).listen(Number(where), '127.0.0.1');
}
