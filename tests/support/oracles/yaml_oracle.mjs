// What npm `yaml` reads. One JSON line in, {"text": …}; one JSON line out, {"ok": value} or {"error": message}.
// The folder that holds the package is the first argument: an import here would look beside this file instead.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const { parseDocument } = createRequire(`${process.argv[2]}/`)('yaml')

function read(text) {
  const document = parseDocument(text, { version: '1.2', schema: 'core', prettyErrors: false })
  if (document.errors.length > 0) return { error: document.errors[0].message }
  return { ok: document.toJS() }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let answer
  try {
    answer = read(JSON.parse(line).text)
  } catch (error) {
    answer = { error: String(error) }
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
