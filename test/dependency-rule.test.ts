import { deepEqual, equal, match } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { describe, it } from 'node:test'
import { brokenImports, bypassedClocks, type SourceFiles } from './dependency-rule.ts'
import { packageRules, type PackageRule } from './package-rules.ts'
import { projectRoot, readPackages } from './workspace.ts'

describe('the dependency rule', () => {
  const sendoff = ruleOf('sendoff')

  for (const { name, folder } of readPackages()) {
    it(`is kept by every import of ${folder}`, () => {
      const files = sourceOf(folder)

      equal(Object.keys(files).length > 0, true, 'there is no source to read')
      deepEqual(brokenImports(files, ruleOf(name)), [])
    })
  }

  it('lets the engine take time and chance only from what it is handed', () => {
    deepEqual(bypassedClocks(sourceOf('packages/sendoff')), [])
    const forged = {
      'poll/poller.ts': '// setTimeout is fine here\nsetTimeout(poll, 5)',
      'clock.ts': 'Date.now()',
    }
    deepEqual(bypassedClocks(forged), [
      'poll/poller.ts:2 uses setTimeout: take it from the clock or an option',
    ])
  })

  const forged: readonly [file: string, text: string, message: RegExp][] = [
    [
      'store/rows.ts',
      `import { claim } from '../poll/claim.ts'`,
      /store\/rows\.ts:1 .*store sees tools, not poll/,
    ],
    ['event/ulid.ts', `import type { Outbox } from '../outbox/outbox.ts'`, /not outbox/],
    ['poll/poller.ts', `import { sqliteStore } from '../stores/sqlite/index.ts'`, /not SQL stores/],
    ['settle/settler.ts', `export { outbox } from '../outbox/outbox.ts'`, /not outbox/],
    ['stores/sqlite/index.ts', `import { Poller } from '../../poll/poller.ts'`, /not poll/],
    ['stores/sqlite/index.ts', `const m = await import('../memory/index.ts')`, /not stores/],
    ['stores/mysql/index.ts', `import { x } from '../postgres/x.ts'`, /adapters do not import each other/],
    ['stores/memory/index.ts', `import { x } from '../sql/x.ts'`, /not SQL parts/],
    ['publishers/kafka/x.ts', `import { x } from '../nats/x.ts'`, /adapters do not import each other/],
    ['publishers/kafka.ts', `import { Kafka } from 'kafkajs'`, /relative files and node: modules only/],
    [
      'event/schema.ts',
      `import type { S } from '@standard-schema/spec'`,
      /relative files and node: modules only/,
    ],
    ['event/ulid.ts', `import { randomBytes } from 'crypto'`, /relative files and node: modules only/],
    ['event/ulid.ts', `type S = import('zod').Schema`, /relative files and node: modules only/],
    ['transactions/drizzle.ts', `import { w } from '../write/outbox-writer.ts'`, /not write/],
    ['observe/prometheus/index.ts', `import { p } from '../../poll/poller.ts'`, /not poll/],
    ['outbox/outbox.ts', `import { memoryStore } from '../stores/memory/index.ts'`, /not stores/],
    ['index.ts', `\nexport * from './testing/index.ts'`, /index\.ts:2 .*only testing sees testing/],
    ['poll/poller.ts', `import type { Dispatcher } from '../dispatch/dispatcher.ts'`, /not dispatch/],
    [
      'route/route.ts',
      `import type { Chain } from '../process/chain.ts'`,
      /route sees .*, retry, not process/,
    ],
    ['mail/mailer.ts', `import { memoryStore } from '../stores/memory/index.ts'`, /not stores/],
    ['outbox/outbox.ts', `import { MailOutbox } from '../mail/mail-outbox.ts'`, /not mail/],
    ['write/writer.ts', `import { x } from '../../test/x.ts'`, /outside of src/],
    ['write/writer.ts', 'await import(name)', /a computed name/],
    ['strange/thing.ts', '', /belongs to no zone/],
  ]
  for (const [file, text, message] of forged) {
    it(`finds fault with ${file}: ${text.trim() || 'a file that is nowhere'}`, () => {
      const broken = brokenImports({ [file]: text }, sendoff)
      equal(broken.length, 1, broken.join('\n'))
      match(broken[0]!, message)
    })
  }

  it('finds cycles of values, and allows cycles of types', () => {
    const back = { 'write/b.ts': `import { a } from './a.ts'` }

    deepEqual(brokenImports({ 'write/a.ts': `import { b } from './b.ts'`, ...back }, sendoff), [
      'write/a.ts -> write/b.ts -> write/a.ts is a cycle: these files load each other',
    ])
    deepEqual(brokenImports({ 'write/a.ts': `import type { b } from './b.ts'`, ...back }, sendoff), [])
  })

  it('lets no zone see one below it, so that no two rooms see each other', () => {
    for (const { zones } of Object.values(packageRules)) {
      const names = zones.map(({ name }) => name)
      for (const [index, { name, sees }] of zones.entries()) {
        const below = sees.filter((seen) => !names.slice(0, index).includes(seen))
        deepEqual(below, [], `${name} sees zones that stand below it or nowhere`)
      }
    }
  })

  it('lets a package import those that its rule names, and no other', () => {
    const rule = { zones: [{ name: 'all', holds: ['**'], sees: [] }], imports: ['sendoff', '@nestjs/common'] }
    const importing = (specifier: string) => brokenImports({ 'index.ts': `import '${specifier}'` }, rule)

    for (const allowed of ['sendoff', 'sendoff/mail', '@nestjs/common']) deepEqual(importing(allowed), [])
    for (const other of ['sendoff-extra', '@nestjs/core', 'pg', 'fs', '../../sendoff/src/index.ts']) {
      equal(importing(other).length, 1, other)
    }
    match(
      importing('pg')[0]!,
      /its package uses sendoff, @nestjs\/common, relative files and node: modules only/,
    )
  })

  it('allows imports within the rule', () => {
    const files = {
      'stores/sqlite/index.ts': `import { x } from '../sql/x.ts'\nimport { y } from './y.ts'\nimport 'node:fs'`,
      'testing/checks.ts': `import { Outbox } from '../outbox/outbox.ts'\nimport '../stores/memory/index.ts'`,
      'mail/mailer.ts': `import { Settler } from '../settle/settler.ts'`,
      'outbox/outbox.ts': `// import 'zod'\nimport { Settler } from '../settle/settler.ts'`,
    }
    deepEqual(brokenImports(files, sendoff), [])
  })
})

function ruleOf(name: string): PackageRule {
  const rule = packageRules[name]
  if (rule === undefined) throw new Error(`${name} has no rule in test/package-rules.ts`)
  return rule
}

/** Returns the source files of a package, by their path within `src`. */
function sourceOf(folder: string): SourceFiles {
  const src = join(projectRoot, folder, 'src')
  const paths = globSync('**/*.ts', { cwd: src })
  return Object.fromEntries(
    paths.map((path) => [path.replaceAll(sep, '/'), readFileSync(join(src, path), 'utf8')]),
  )
}
