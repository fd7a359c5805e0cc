import ts from 'typescript'
import { readPackageModules } from './package-modules.ts'

/** A property of an exported interface of options. */
export interface OptionOfType {
  readonly name: string
  readonly isRequired: boolean
  /** Its doc comment on one line. */
  readonly meaning: string
}

/** Reads every exported type whose name ends as those of options do, from the source. */
export function readOptionTypes(): ReadonlyMap<string, readonly OptionOfType[]> {
  const { modules, checker } = readPackageModules()
  const types = new Map<string, readonly OptionOfType[]>()
  for (const exported of modules.flatMap((module) => module.exported)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
    const isType = symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)
    if (!isType || !/(?:Options|Settings|Config|Fields|Rule|Definition)$/.test(symbol.name)) continue
    if (!types.has(symbol.name)) types.set(symbol.name, optionsOf(symbol, checker))
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
