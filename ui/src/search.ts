// Search as you type: every word must match, and matches in names come first.

import type { Skill } from "./backend";
import { skillPath } from "./format";

const haystacks = new WeakMap<Skill, string>();

function haystack(skill: Skill): string {
  let text = haystacks.get(skill);
  if (text === undefined) {
    text = `${skill.name} ${skillPath(skill.uri)} ${skill.description} ${skill.origin} ${skill.source}`.toLowerCase();
    haystacks.set(skill, text);
  }
  return text;
}

export function search(skills: Skill[], query: string): Skill[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words[0];
  if (first === undefined) return skills;
  const ranks: Skill[][] = [[], [], []];
  for (const skill of skills) {
    const text = haystack(skill);
    if (!words.every((word) => text.includes(word))) continue;
    const at = skill.name.indexOf(first);
    ranks[at === 0 ? 0 : at > 0 ? 1 : 2]!.push(skill);
  }
  return ranks.flat();
}
