import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import ts from 'typescript'
import type { Finding } from './finding.ts'

/** The source files of the subpaths that the `exports` of a package.json name. */
export function frontDoors(packageFolder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as PackageJson
  return Object.values(manifest.exports ?? {}).flatMap((target) =>
    typeof target === 'string' || target.types === undefined
      ? []
      : [join(packageFolder, target.types.replace(/^\.\/dist\//, 'src/').replace(/\.d\.ts$/, '.ts'))],
  )
}

interface PackageJson {
  readonly exports?: Readonly<Record<string, string | { readonly types?: string }>>
}

/** Every export of these files without a doc comment, and every option without one. */
export function findBareExports(
  root: string,
  files: readonly string[],
  program: ts.Program,
): readonly Finding[] {
  const checker = program.getTypeChecker()
  const bare = new Map<ts.Declaration, string>()

  for (const file of files) {
    const source = program.getSourceFile(file)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${file} exports nothing that can be read`)

    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      noteIfBare(symbol, symbol.name)
      if (!isOptions(symbol)) continue
      for (const option of optionsOf(checker.getDeclaredTypeOfSymbol(symbol))) {
        noteIfBare(option, `${symbol.name}.${option.name}`)
      }
    }
  }

  function noteIfBare(symbol: ts.Symbol, name: string): void {
    const declarations = (symbol.declarations ?? []).filter((each) => isOurs(each, root))
    if (declarations.length === 0 || declarations.some(hasDocComment)) return
    bare.set(declarations[0]!, bare.get(declarations[0]!) ?? name)
  }

  return [...bare].map(([declaration, name]) => {
    const source = declaration.getSourceFile()
    return {
      file: relative(root, source.fileName).replaceAll(sep, '/'),
      line: source.getLineAndCharacterOfPosition(declaration.getStart(source)).line + 1,
      message: `${name} is exported without a doc comment`,
    }
  })
}

function isOptions({ name, flags }: ts.Symbol): boolean {
  return (
    /(?:Options|Settings)$/.test(name) &&
    (flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) !== 0
  )
}

/** The properties of options, and those of each alternative where they are a union. */
function optionsOf(type: ts.Type): readonly ts.Symbol[] {
  return type.isUnion() ? type.types.flatMap(optionsOf) : type.getProperties()
}

function isOurs(declaration: ts.Declaration, root: string): boolean {
  const { fileName } = declaration.getSourceFile()
  return fileName.startsWith(root) && !fileName.includes('/node_modules/')
}

function hasDocComment(declaration: ts.Declaration): boolean {
  return ts
    .getJSDocCommentsAndTags(declaration)
    .some((each) => ts.isJSDoc(each) && each.comment !== undefined)
}
