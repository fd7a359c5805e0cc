import { join } from 'node:path'
import ts from 'typescript'
import { projectRoot, readPackages } from '../workspace.ts'
import { frontDoors } from '../words/export-rule.ts'

/** A property of an exported interface of options. */
export interface OptionOfType {
  readonly name: string
  readonly isRequired: boolean
  /** Its doc comment on one line. */
  readonly meaning: string
}

/** Reads every exported type whose name ends as those of options do, from the source. */
export function readOptionTypes(): ReadonlyMap<string, readonly OptionOfType[]> {
  const doors = readPackages().flatMap(({ folder }) => frontDoors(join(projectRoot, folder)))
  // Names are read, and nothing is checked, so the smallest library is enough.
  const program = ts.createProgram(doors, {
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.es5.d.ts'],
    types: [],
    strict: true,
    allowImportingTsExtensions: true,
  })
  const checker = program.getTypeChecker()
  const types = new Map<string, readonly OptionOfType[]>()
  for (const file of doors) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const isType = symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)
      if (!isType || !/(?:Options|Settings|Config|Fields|Rule|Definition)$/.test(symbol.name)) continue
      if (!types.has(symbol.name)) types.set(symbol.name, optionsOf(symbol, checker))
    }
  }
  return types
}

function optionsOf(symbol: ts.Symbol, checker: ts.TypeChecker): readonly OptionOfType[] {
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  const properties = new Map<string, ts.Symbol>()
  for (const each of type.isUnion() ? type.types : [type]) {
    for (const property of each.getProperties()) properties.set(property.name, property)
  }
  return [...properties.values()].map((property) => ({
    name: property.name,
    isRequired: !(property.flags & ts.SymbolFlags.Optional),
    meaning: ts.displayPartsToString(property.getDocumentationComment(checker)).replaceAll(/\s+/g, ' '),
  }))
}
