/** The databases that `init` knows. */
export const databaseKinds = ['postgres', 'mysql', 'sqlite', 'redis'] as const

/** One of these databases. */
export type DatabaseKind = (typeof databaseKinds)[number]

/** What `init` found out about a project. */
export interface FoundProject {
  readonly kind: DatabaseKind
  readonly isTypeScript: boolean
  /** The driver that the project uses already. */
  readonly driver: string | undefined
  /** The schema as SQL, if the database has one and its driver is installed. */
  readonly schema: string | undefined
}

/** Returns the files of a new outbox, by path. */
export function firstFiles({
  kind,
  isTypeScript,
  driver,
  schema,
}: FoundProject): Readonly<Record<string, string>> {
  const end = isTypeScript ? 'ts' : 'mjs'
  return {
    [`sendoff.config.${end}`]: configFile(kind),
    [`outbox.${end}`]: outboxFile(kind, driver, isTypeScript),
    [`first-event.${end}`]: eventFile(end),
    ...(schema !== undefined && { 'migrations/0001-outbox.sql': `${schema}\n` }),
  }
}

const addresses: Readonly<Record<DatabaseKind, string>> = {
  postgres: 'postgres://localhost:5432/app',
  mysql: 'mysql://root@localhost:3306/app',
  sqlite: 'sqlite:app.db',
  redis: 'redis://localhost:6379',
}

function configFile(kind: DatabaseKind): string {
  return [
    `import { defineConfig } from '@sendoff/cli'`,
    '',
    'export default defineConfig({',
    '  // The environment variable SENDOFF_URL overrides it.',
    `  url: '${addresses[kind]}',`,
    '})',
    '',
  ].join('\n')
}

interface StoreCode {
  readonly imports: string
  readonly store: string
}

function storeCode(kind: DatabaseKind, driver: string | undefined): StoreCode {
  const url = `process.env['SENDOFF_URL'] ?? '${addresses[kind]}'`
  switch (kind) {
    case 'postgres':
      return driver === 'postgres'
        ? { imports: `import postgres from 'postgres'`, store: `postgresStore({ client: postgres(${url}) })` }
        : {
            imports: `import pg from 'pg'`,
            store: `postgresStore({ client: new pg.Pool({ connectionString: ${url} }) })`,
          }
    case 'mysql':
      return driver === 'mariadb'
        ? {
            imports: `import { createPool } from 'mariadb'`,
            store: `mysqlStore({ client: createPool(${url}) })`,
          }
        : {
            imports: `import { createPool } from 'mysql2/promise'`,
            store: `mysqlStore({ client: createPool(${url}) })`,
          }
    case 'redis':
      return driver === 'redis'
        ? {
            imports: `import { createClient } from 'redis'`,
            store: `redisStore({ client: await createClient({ url: ${url} }).connect() })`,
          }
        : { imports: `import { Redis } from 'ioredis'`, store: `redisStore({ client: new Redis(${url}) })` }
    case 'sqlite':
      return {
        imports: `import { DatabaseSync } from 'node:sqlite'`,
        store: `sqliteStore({ open: () => new DatabaseSync('app.db') })`,
      }
  }
}

function outboxFile(kind: DatabaseKind, driver: string | undefined, isTypeScript: boolean): string {
  const { imports, store } = storeCode(kind, driver)
  const payload = isTypeScript ? '<{ orderId: string }>' : ''
  return `${imports}
import { defineEvent, Outbox } from 'sendoff'
import { ${kind}Store } from 'sendoff/${kind}'

/** The first event. Its listener is below. */
export const OrderPlaced = defineEvent${payload}('OrderPlaced', { aggregateType: 'Order' })

export const outbox = Outbox.multiNode({ store: ${store} })

outbox.on(OrderPlaced, (event) => {
  console.log('An order was placed:', event.payload.orderId)
})
`
}

function eventFile(end: string): string {
  return `import { OrderPlaced, outbox } from './outbox.${end}'

await outbox.start()

// Write your own data in the same transaction: both are kept, or none.
await outbox.transaction(async () => {
  await outbox.write(OrderPlaced, { orderId: 'o-1' })
})

await outbox.drain()
await outbox.close()
process.exit()
`
}
