import { deepEqual } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { reservedWords, usedKeywords } from './reserved-words.ts'

const stores = fileURLToPath(new URL('../../../src/stores', import.meta.url))

describe('the SQL of the stores', () => {
  for (const store of ['mysql', 'postgres'] as const) {
    it(`uses no word as a name in ${store} that a server reserves, unless in quotes`, () => {
      const found = sqlFiles(path.join(stores, store)).flatMap((file) =>
        namesIn(readFileSync(file, 'utf8'), reservedWords[store]).map(
          (name) => `${path.relative(stores, file)}: ${name}`,
        ),
      )
      deepEqual(found, [])
    })
  }

  it('an unquoted name that is reserved is found, and a quoted one is not', () => {
    deepEqual(namesIn('const a = `select until from x where groups = 1`', reservedWords.mysql), [
      'until',
      'groups',
    ])
    deepEqual(
      namesIn('const a = `select \\`until\\`, "groups" from x where y = \'window\'`', reservedWords.mysql),
      [],
    )
  })
})

function sqlFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /^(sql|schema)\/.*\.ts$/.test(name))
    .map((name) => path.join(folder, name))
}

/** The reserved words that stand where a statement has a name. */
function namesIn(source: string, reserved: ReadonlySet<string>): string[] {
  const found: string[] = []
  visit(ts.createSourceFile('sql.ts', source, ts.ScriptTarget.Latest))
  return found

  function visit(node: ts.Node): void {
    if (ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) {
      const text = ts.isTemplateExpression(node)
        ? [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join(' ? ')
        : node.text
      if (isSql(text)) found.push(...reservedNames(text, reserved))
    } else if (ts.isStringLiteral(node) && isSql(node.text)) found.push(...reservedNames(node.text, reserved))
    node.forEachChild(visit)
  }
}

function isSql(text: string): boolean {
  return /^\s*(select|insert|update|delete|create|alter|with|set|case|lock|event\.|and|exists|\()/.test(text)
}

function reservedNames(sql: string, reserved: ReadonlySet<string>): string[] {
  const plain = sql
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/'[^']*'|`[^`]*`|"[^"]*"|\$function\$[^]*\$function\$/g, ' ')
  const words = plain.toLowerCase().match(/(?<![\w.:@$])[a-z_]\w*/g) ?? []
  return words.filter((word) => reserved.has(word) && !usedKeywords.has(word))
}
