// Server-sent events, read with `fetch`: an `EventSource` cannot send the session header.

import { Failure } from "./backend";

/** Read until the stream ends. Throws `Failure` for any answer other than a stream, and the errors of `fetch`. */
export async function events(
  path: string,
  headers: Record<string, string>,
  opened: () => void,
  received: (data: string) => void,
): Promise<void> {
  const response = await fetch(path, { headers: { ...headers, Accept: "text/event-stream" }, cache: "no-store" });
  if (!response.ok || !response.body) {
    throw new Failure(`The server answered ${response.status}`, "", response.status === 401);
  }
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) received(line.slice(5).trim());
  }
}
