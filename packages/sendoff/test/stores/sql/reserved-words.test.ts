import { deepEqual, ok } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { migrationsFor } from '../../../src/stores/mysql/schema/migrations.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'
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

  it('uses no word as the name of a column or an index in mysql that a server reserves', () => {
    const migrations = migrationsFor(mysqlTables(undefined, 'outbox_event', 'day'))
    const names = migrations.flatMap(({ statements, online }) => [
      ...statements.flatMap((text) => [
        ...Array.from(text.matchAll(/^  (\w+) +(?!key\b)\w/gm), ([, name]) => name!),
        ...Array.from(text.matchAll(/^  (?:unique )?key (\w+) \(/gm), ([, name]) => name!),
        ...Array.from(text.matchAll(/^  (?:.*)key(?: \w+)? \(([^)]*)\)/gm), ([, list]) =>
          list!.split(/, ?/),
        ).flat(),
      ]),
      ...online.flatMap((step) =>
        step.kind === 'index' ? [step.name, ...step.columns.split(/, ?/)] : [step.name],
      ),
    ])
    ok(names.includes('event_id'))
    const structure = new Set(['primary', 'unique', 'key', 'partition'])
    deepEqual(
      [...new Set(names)].filter((name) => reservedWords.mysql.has(name) && !structure.has(name)),
      [],
    )
  })

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
    .filter((name) => name.endsWith('.ts'))
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
