import { build } from 'esbuild'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

// Bundles the page into `dist/page`: one script, its style sheet, the dark colours, and the document that names them.
const folder = join(import.meta.dirname, '../dist/page')
rmSync(folder, { recursive: true, force: true })

const { metafile } = await build({
  entryPoints: { app: join(import.meta.dirname, 'app.tsx'), dark: join(import.meta.dirname, 'dark.css') },
  outdir: folder,
  entryNames: '[name]-[hash]',
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
})
const names = Object.keys(metafile.outputs).map((path) => basename(path))
const html = readFileSync(join(import.meta.dirname, 'index.html'), 'utf8').replace(
  /(?<=assets\/)(app|dark)\.(js|css)/g,
  (_file, start: string, end: string) =>
    names.find((name) => name.startsWith(`${start}-`) && name.endsWith(`.${end}`))!,
)
writeFileSync(join(folder, 'index.html'), html)
writeFileSync(join(folder, 'icon.svg'), readFileSync(join(import.meta.dirname, 'icon.svg')))
