import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import type { InstalledPackage } from './installed-package.ts'

/** Settings with which a user's compiler may search for the types of a package. */
export interface TypeResolution {
  readonly name: string
  readonly options: ts.CompilerOptions
  /** The user's files. Their extensions decide whether they are ES modules. */
  readonly files: readonly ImportingFile[]
}

interface ImportingFile {
  readonly name: string
  /**
   * Whether it has to import dynamically: before Node 20, CommonJS could not load an ES module synchronously.
   */
  readonly dynamic?: true
}

export const typeResolutions: readonly TypeResolution[] = [
  {
    name: 'node16, in an ES module, and in CommonJS by import()',
    options: { module: ts.ModuleKind.Node16, lib: ['lib.es2022.d.ts'] },
    files: [{ name: 'esm-16.mts' }, { name: 'cjs-16.cts', dynamic: true }],
  },
  {
    name: 'nodenext, in an ES module and in CommonJS',
    options: { module: ts.ModuleKind.NodeNext },
    files: [{ name: 'esm-next.mts' }, { name: 'cjs-next.cts' }],
  },
  {
    name: 'bundler',
    options: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
    files: [{ name: 'bundled.ts' }],
  },
]

/**
 * Returns the compiler's errors for files that import everything, and for the package's own declarations,
 * which are not skipped. Empty if all is well and nothing has become `any`.
 */
export function typeErrors(
  { name, projects, specifiers }: InstalledPackage,
  resolution: TypeResolution,
): readonly string[] {
  const project = projects.commonjs
  const files = resolution.files.map((importing) => {
    const file = join(project, importing.name)
    writeFileSync(file, specifiers.map((each, index) => importLines(each, index, importing)).join('\n'))
    return file
  })

  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(project, 'node_modules/@types')],
    ...resolution.options,
  })
  const judged = program
    .getSourceFiles()
    .filter(({ fileName }) => files.includes(fileName) || fileName.includes(`node_modules/${name}/`))
  const diagnostics = [
    ...program.getOptionsDiagnostics(),
    ...judged.flatMap((source) => program.getSemanticDiagnostics(source)),
  ]
  return diagnostics.map(describeDiagnostic)
}

/** Returns two lines. The second is an error unless the module has no types. */
function importLines(specifier: string, index: number, { dynamic }: ImportingFile): string {
  const name = `module${index}`
  const load = dynamic ? `const ${name} = import('${specifier}')` : `import * as ${name} from '${specifier}'`
  return `${load}\n// @ts-expect-error\nexport const wrong${index}: number = ${name}`
}

export function describeDiagnostic({ file, start, messageText, code }: ts.Diagnostic): string {
  const text = `TS${code} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  if (file === undefined) return text

  return `${file.fileName}:${file.getLineAndCharacterOfPosition(start ?? 0).line + 1} ${text}`
}
