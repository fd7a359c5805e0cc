import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { snippetModule } from '../docs/snippet-module.ts'
import { describeDiagnostic } from './type-resolution.ts'

/**
 * Compiles the code of the readme in a project, as the project's kind of module, against the package that is
 * installed there. Returns the file to run.
 */
export function compileReadme(project: string, type: 'module' | 'commonjs'): string {
  const markdown = readFileSync(join(project, 'node_modules/sendoff/README.md'), 'utf8')
  const { code = '' } = snippetModule('README.md', markdown)
  const file = join(project, 'readme.ts')
  writeFileSync(file, type === 'module' ? code : inFunction(code))

  const program = ts.createProgram([file], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(project, 'node_modules/@types')],
  })
  const errors = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics].map(describeDiagnostic)
  if (errors.length > 0) throw new Error(`The readme does not compile:\n${errors.join('\n')}`)
  return join(project, 'readme.js')
}

/** Puts all but the imports into a function, because CommonJS cannot await at its top level. */
function inFunction(code: string): string {
  const { statements } = ts.createSourceFile('readme.ts', code, ts.ScriptTarget.Latest, true)
  const imports = statements.filter(ts.isImportDeclaration).map((statement) => statement.getText())
  const rest = statements
    .filter((statement) => !ts.isImportDeclaration(statement))
    .map((statement) => statement.getText())
  return [...imports, 'async function main() {', ...rest, '}', 'void main()'].join('\n')
}
