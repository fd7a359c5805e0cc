import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'
import { pgDriver } from './pg-driver.ts'
import { pgliteDriver } from './pglite-driver.ts'
import type { PgliteDatabase, PgPool, PostgresJsSql } from './postgres-client.ts'
import type { DriverOptions, PostgresDriver } from './postgres-driver.ts'
import { postgresJsDriver } from './postgres-js-driver.ts'

/** Returns the driver for a client, judged by its methods. */
export function driverOf(client: unknown, options: DriverOptions): PostgresDriver<object> {
  if (has(client, 'begin', 'unsafe')) return known(postgresJsDriver(client as PostgresJsSql, options))
  if (has(client, 'transaction', 'query')) return known(pgliteDriver(client as PgliteDatabase))
  // A client of pg, in or out of a pool, knows the server process of its connection.
  if (has(client, 'connect', 'query') && !('processID' in (client as object))) {
    return known(pgDriver(client as PgPool, options))
  }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'Option "client" of postgresStore must be a Pool of pg, the sql of postgres.js or a PGlite database, ' +
      `not ${kindOf(client)}.`,
  )
}

function has(client: unknown, ...methods: readonly string[]): boolean {
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null) return false
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}

// Each driver accepts only the transactions that it has handed out itself.
function known<Tx extends object>(driver: PostgresDriver<Tx>): PostgresDriver<object> {
  return driver
}
