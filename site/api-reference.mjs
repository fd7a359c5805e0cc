// Writes the API reference of every subpath of every package as Markdown pages, from the doc comments.
// It is JavaScript, because TypeDoc is a dependency of the site alone, which the project's compiler does not see.
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Application, Converter, ReflectionKind } from 'typedoc'
import { headingAnchor } from './pages/heading-anchor.ts'

const root = resolve(import.meta.dirname, '..')
const out = process.argv[2]

/** The name of each subpath, such as `sendoff/postgres`, by its source file. */
const subpaths = new Map(
  readdirSync(join(root, 'packages')).flatMap((folder) => {
    const { name, exports = {} } = JSON.parse(
      readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'),
    )
    return Object.entries(exports).flatMap(([subpath, target]) => {
      if (target.types === undefined) return []
      const source = target.types.replace(/^\.\/dist\//, 'src/').replace(/\.d\.ts$/, '.ts')
      return [[join(root, 'packages', folder, source), join(name, subpath)]]
    })
  }),
)

const application = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: [...subpaths.keys()],
  tsconfig: join(root, 'site/tsconfig.api.json'),
  out,
  readme: 'none',
  name: 'API reference',
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  disableGit: true,
  router: 'module',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  entryFileName: 'index',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  enumMembersFormat: 'table',
  validation: { notExported: false, invalidLink: false },
  logLevel: 'Error',
})

// A module is named as a user imports it, not after its file.
application.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
  const [file] = context.getSymbolFromReflection(reflection)?.declarations ?? []
  const name = reflection.kind === ReflectionKind.Module && subpaths.get(file?.getSourceFile().fileName)
  if (name) reflection.name = name
})

const project = await application.convert()
if (project === undefined) process.exit(1)
await application.generateOutputs(project)
if (application.logger.hasErrors()) process.exit(1)
mendAnchors()

/**
 * Mends links to headings of the same page. The plugin counts a name twice if a method has it, too (`consumer.info`
 * and `ConsumerInfo`), and then links to a heading that the site does not have: `#consumerinfo-1`.
 */
function mendAnchors() {
  for (const page of globSync('**/*.md', { cwd: out })) {
    const text = readFileSync(join(out, page), 'utf8')
    const anchors = anchorsOf(text)
    const mended = text.replaceAll(/\]\(#([\w-]+?)-\d+\)/g, (link, name) =>
      anchors.has(name) && !anchors.has(link.slice(3, -1)) ? `](#${name})` : link,
    )
    if (mended !== text) writeFileSync(join(out, page), mended)
  }
}

/** Returns the names of the headings of a page. One that comes again gets a number. */
function anchorsOf(text) {
  const anchors = new Set()
  for (const [, heading] of text.matchAll(/^#+ (.+)$/gm)) {
    const name = headingAnchor(heading.replaceAll('\\', ''))
    let anchor = name
    for (let number = 1; anchors.has(anchor); number++) anchor = `${name}-${number}`
    anchors.add(anchor)
  }
  return anchors
}
