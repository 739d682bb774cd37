// Runs a TypeScript file: its types are taken out, nothing else of it changes.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { transformSync } from 'amaro'

const [file, out] = process.argv.slice(2)
writeFileSync(out, transformSync(readFileSync(file, 'utf8')).code)
await import(pathToFileURL(out))
