// For drivers in JavaScript: load the client from its environment, collect the checks, print the report.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const target = JSON.parse(readFileSync(process.argv[2], 'utf8'));
export const require = createRequire(join(target.environment, 'package.json'));

const checks = [];
const supports = [];

/** Run one check. It passes unless it throws. Its return value is the detail. */
export async function check(name, body) {
    try {
        checks.push({ name, ok: true, detail: String((await body()) ?? '') });
    } catch (error) {
        checks.push({ name, ok: false, detail: String(error?.message ?? error).slice(0, 2000) });
    }
}

/** Name what was checked, for the README. */
export const support = (...words) => supports.push(...words.filter(word => !supports.includes(word)));

export function same(actual, expected, what) {
    const [got, due] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (got !== due) throw new Error(`${what}: got ${got}, expected ${due}`);
}

export const sha256 = bytes => createHash('sha256').update(bytes).digest('hex');

export const byUri = skills => skills.map(skill => skill.uri).sort();

/** Return the version of a package in the client's environment, even if it does not export package.json. */
export const installed = name =>
    JSON.parse(readFileSync(join(target.environment, 'node_modules', name, 'package.json'), 'utf8')).version;

/** The skills that `skills/list` must return: the conforming ones, also those with ambiguous YAML. */
export const listed = [...target.expected.skills, ...target.expected.ambiguous];

export function report(version) {
    process.stdout.write(`${JSON.stringify({ client: target.client, version, checks, supports })}\n`);
}
