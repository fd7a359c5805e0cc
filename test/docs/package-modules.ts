import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { projectRoot, readPackages } from '../workspace.ts'

/** A module that users import. */
export interface PackageModule {
  /** Its name in an import, such as `sendoff/postgres`. */
  readonly subpath: string
  readonly exported: readonly ts.Symbol[]
}

export interface PackageModules {
  readonly modules: readonly PackageModule[]
  readonly checker: ts.TypeChecker
}

/** Reads what every subpath of every package exports, from the source. */
export function readPackageModules(): PackageModules {
  const doors = readPackages().flatMap(({ name, folder }) => frontDoors(name, folder))
  // Names and comments are read, and nothing is checked, so the smallest library is enough.
  const program = ts.createProgram(
    doors.map(({ file }) => file),
    {
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es5.d.ts'],
      types: [],
      strict: true,
      allowImportingTsExtensions: true,
    },
  )
  const checker = program.getTypeChecker()
  const modules = doors.map(({ subpath, file }) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
    return { subpath, exported: checker.getExportsOfModule(module) }
  })
  return { modules, checker }
}

function frontDoors(name: string, folder: string): readonly { subpath: string; file: string }[] {
  const { exports } = JSON.parse(readFileSync(join(projectRoot, folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.entries(exports).flatMap(([subpath, target]) => {
    if (typeof target === 'string') return []
    const source = target.types.replace(/^\.\/dist\//, 'src/').replace(/\.d\.ts$/, '.ts')
    return [{ subpath: posix.join(name, subpath), file: join(projectRoot, folder, source) }]
  })
}
