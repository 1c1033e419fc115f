// Format numbers, times and paths for people.

const numbers = new Intl.NumberFormat("en");

export function count(number: number, one: string, many = `${one}s`): string {
  return `${numbers.format(number)} ${number === 1 ? one : many}`;
}

export function number(value: number): string {
  return numbers.format(value);
}

export function bytes(size: number | null): string {
  if (size === null) return "live";
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(1)} KB`;
  return `${(size / 1024 / 1024).toFixed(1)} MB`;
}

export function ago(iso: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000));
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

const SCHEME = "skill://";
const MAIN = "/SKILL.md";

/** Return the path of a skill: the part of its URI between the scheme and `SKILL.md`. */
export function skillPath(uri: string): string {
  return uri.slice(SCHEME.length, -MAIN.length);
}

export function skillUri(path: string): string {
  return `${SCHEME}${path}${MAIN}`;
}
