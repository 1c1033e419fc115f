// For drivers in JavaScript: loads the client from its environment, keeps the checks, and prints the report.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const target = JSON.parse(readFileSync(process.argv[2], 'utf8'));
export const require = createRequire(join(target.environment, 'package.json'));

const checks = [];
const supports = [];

/** Run one check: it passes unless it throws. What it returns is the detail. */
export async function check(name, body) {
    try {
        checks.push({ name, ok: true, detail: String((await body()) ?? '') });
    } catch (error) {
        checks.push({ name, ok: false, detail: String(error?.message ?? error).slice(0, 2000) });
    }
}

/** Say in a word what the client can do and was checked for; it goes into the README. */
export const support = (...words) => supports.push(...words.filter(word => !supports.includes(word)));

export function same(actual, expected, what) {
    const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (got !== wanted) throw new Error(`${what}: got ${got}, expected ${wanted}`);
}

export const sha256 = bytes => createHash('sha256').update(bytes).digest('hex');

export const byUri = skills => skills.map(skill => skill.uri).sort();

/** The version of a package in the client's environment, whether or not it exports its package.json. */
export const installed = name =>
    JSON.parse(readFileSync(join(target.environment, 'node_modules', name, 'package.json'), 'utf8')).version;

/** What `skills/list` must have: the conforming skills, ambiguous YAML included. */
export const listed = [...target.expected.skills, ...target.expected.ambiguous];

export function report(version) {
    process.stdout.write(`${JSON.stringify({ client: target.client, version, checks, supports })}\n`);
}
