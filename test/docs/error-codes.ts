import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { projectRoot } from '../workspace.ts'

/** Returns the members of the union `OutboxErrorCode` in the source. */
export function errorCodes(): readonly string[] {
  const file = join(projectRoot, 'packages/sendoff/src/errors.ts')
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  const union = source.statements
    .filter(ts.isTypeAliasDeclaration)
    .find(({ name }) => name.text === 'OutboxErrorCode')?.type
  if (union === undefined || !ts.isUnionTypeNode(union)) throw new Error('OutboxErrorCode is no union.')

  return union.types.map((type) => {
    if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) return type.literal.text
    throw new Error('OutboxErrorCode has a member that is no literal.')
  })
}
