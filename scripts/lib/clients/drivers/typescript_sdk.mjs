// The official TypeScript SDK's client and its SkillsClient, on both protocol versions.

import { byUri, check, installed, listed, report, require, same, sha256, support, target } from './driving.mjs';

const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
const { SkillsClient } = require('@modelcontextprotocol/client/ext/skills');

const { expected } = target;
// The SDK offers three ways to agree on a version. `auto` probes first, as hosts do that support both.
const ERAS = { '2026-07-28': { pin: '2026-07-28' }, '2025-11-25': 'legacy' };

function transport() {
    if (target.transport === 'http') return new StreamableHTTPClientTransport(new URL(target.url));
    const [command, ...args] = target.command;
    return new StdioClientTransport({ command, args, env: target.env, stderr: 'ignore' });
}

/** Read every file of the skill through the SDK, which verifies sizes, digests and frontmatter. */
async function readAll(skills, entries, wanted) {
    let files = 0;
    for (const skill of wanted) {
        const entry = entries.find(each => each.uri === skill.uri);
        if (!entry) throw new Error(`${skill.uri} is missing`);
        same(entry.resources.map(file => file.uri).sort(), byUri(Object.values(skill.files)), `files of ${skill.uri}`);
        for (const [path, file] of Object.entries(skill.files)) {
            const read = await skills.read(entry, file.uri);
            if (!read.verified) throw new Error(`${file.uri} was not verified`);
            same(sha256(read.bytes), file.sha256, `digest of ${skill.path}/${path}`);
            files += 1;
        }
    }
    return `${files} files`;
}

for (const [protocol, mode] of Object.entries(ERAS)) {
    const title = what => `${protocol} ${what}`;
    const client = new Client({ name: 'works-with', version: '1' }, { versionNegotiation: { mode } });
    const skills = new SkillsClient(client);
    let entries = [];
    await check(title('connect'), async () => {
        await client.connect(transport());
        same(client.getNegotiatedProtocolVersion(), protocol, 'protocol');
        if (!skills.supported || !skills.directoryRead) throw new Error('the extension is not declared');
    });
    await check(title('list'), async () => {
        const listing = await skills.list();
        entries = listing.skills;
        same(byUri(entries), byUri(listed), 'listed skills');
        return `${entries.length} skills`;
    });
    await check(title('read every file'), () => readAll(skills, entries, expected.skills));
    await check(title('read ambiguous YAML'), () => readAll(skills, entries, expected.ambiguous));
    await check(title('get every skill'), async () => {
        for (const skill of listed) same((await skills.get(skill.uri)).skill.uri, skill.uri, 'skill');
    });
    await check(title('read nonconforming skills as resources'), async () => {
        for (const skill of expected.nonconforming)
            for (const file of Object.values(skill.files)) {
                const [content] = (await client.readResource({ uri: file.uri })).contents;
                const bytes = 'text' in content ? Buffer.from(content.text) : Buffer.from(content.blob, 'base64');
                same(sha256(bytes), file.sha256, `digest of ${file.uri}`);
            }
    });
    await check(title('directory'), async () => {
        const { resources } = await skills.readDirectory(expected.folder.uri);
        same(byUri(resources), expected.folder.children, 'children');
    });
    await client.close();
}

await check('auto negotiates the newest', async () => {
    const client = new Client({ name: 'works-with', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    try {
        await client.connect(transport());
        same(client.getNegotiatedProtocolVersion(), Object.keys(ERAS)[0], 'protocol');
        same(byUri((await new SkillsClient(client).list()).skills), byUri(listed), 'listed skills');
    } finally {
        await client.close();
    }
});

support('list', 'get', 'read', 'directory', ...Object.keys(ERAS).map(protocol => `protocol ${protocol}`));
report(installed('@modelcontextprotocol/client'));
