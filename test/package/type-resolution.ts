import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import type { InstalledPackage } from './installed-package.ts'

/** A way in which a user's compiler may search for the types of a package. */
export interface TypeResolution {
  readonly name: string
  readonly options: ts.CompilerOptions
  /** The user's file. Its extension decides whether it is an ES module. */
  readonly file: string
  /**
   * Whether it has to import dynamically: before Node 20, CommonJS could not load an ES module synchronously.
   */
  readonly dynamic?: true
}

const node16 = { module: ts.ModuleKind.Node16, lib: ['lib.es2022.d.ts'] }
const nodenext = { module: ts.ModuleKind.NodeNext }
const bundler = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }

export const typeResolutions: readonly TypeResolution[] = [
  { name: 'node16, ES module', options: node16, file: 'esm-16.mts' },
  { name: 'node16, CommonJS by import()', options: node16, file: 'cjs-16.cts', dynamic: true },
  { name: 'nodenext, ES module', options: nodenext, file: 'esm-next.mts' },
  { name: 'nodenext, CommonJS', options: nodenext, file: 'cjs-next.cts' },
  { name: 'bundler', options: bundler, file: 'bundled.ts' },
]

/**
 * Returns the compiler's errors for a file that imports everything, and for the package's own declarations,
 * which are not skipped. Empty if all is well and nothing has become `any`.
 */
export function typeErrors(
  { name, projects, specifiers }: InstalledPackage,
  resolution: TypeResolution,
): readonly string[] {
  const project = projects.commonjs
  const file = join(project, resolution.file)
  writeFileSync(file, specifiers.map((each, index) => importing(each, index, resolution)).join('\n'))

  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2022,
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(project, 'node_modules/@types')],
    ...resolution.options,
  })
  const judged = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName === file || fileName.includes(`node_modules/${name}/`))
  const diagnostics = [
    ...program.getOptionsDiagnostics(),
    ...judged.flatMap((source) => program.getSemanticDiagnostics(source)),
  ]
  return diagnostics.map(describeDiagnostic)
}

/** Returns two lines. The second is an error unless the module has no types. */
function importing(specifier: string, index: number, { dynamic }: TypeResolution): string {
  const name = `module${index}`
  const load = dynamic ? `const ${name} = import('${specifier}')` : `import * as ${name} from '${specifier}'`
  return `${load}\n// @ts-expect-error\nexport const wrong${index}: number = ${name}`
}

export function describeDiagnostic({ file, start, messageText, code }: ts.Diagnostic): string {
  const text = `TS${code} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  if (file === undefined) return text

  return `${file.fileName}:${file.getLineAndCharacterOfPosition(start ?? 0).line + 1} ${text}`
}
