import ts from 'typescript'

/** One import of a module in a file. */
export interface ModuleImport {
  /** As written; undefined if it is computed and cannot be read. */
  readonly specifier: string | undefined
  /** Whether it is erased before the program runs. */
  readonly typeOnly: boolean
  readonly line: number
}

/** Returns every import and re-export of a TypeScript file: static, dynamic, and of types. */
export function readImports(fileName: string, text: string): readonly ModuleImport[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const imports: ModuleImport[] = []

  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean): void => {
    imports.push({
      specifier: specifier && ts.isStringLiteralLike(specifier) ? specifier.text : undefined,
      typeOnly,
      line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
    })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, importsTypesOnly(node.importClause))
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      add(node, node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isImportTypeNode(node)) {
      add(node, ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true)
    } else if (ts.isCallExpression(node) && loadsModule(node.expression)) {
      add(node, node.arguments[0], false)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return imports
}

/** Returns the package of a specifier: `sendoff` for `sendoff/mail`, `@nestjs/common` for itself. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

// A clause with only inline `type` names still loads the module, for its side effects.
function importsTypesOnly(clause: ts.ImportClause | undefined): boolean {
  return clause?.phaseModifier === ts.SyntaxKind.TypeKeyword
}

function loadsModule(callee: ts.Expression): boolean {
  return callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require')
}
