// Writes the API reference of every subpath of every package as Markdown pages, from the doc comments.
// It is JavaScript, because TypeDoc is a dependency of the site alone, which the project's compiler does not see.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Application, Converter, ReflectionKind } from 'typedoc'

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
