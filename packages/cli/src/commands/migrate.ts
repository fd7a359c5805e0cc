import type { Finding } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { schemaSqlOf } from '../open-store/open-store.ts'
import type { Command, CommandCall } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { printFindings } from './doctor.ts'
import { configOf, noStore, openStoreOf, placeOf, urlOf, withSession } from './session.ts'
import { wholeNumber } from './whole-number.ts'

/** Options of `sendoff migrate`. */
export interface MigrateOptions extends CommonOptions {
  readonly sql?: boolean
  readonly from?: string
  readonly check?: boolean
}

/** Brings the schema up to date, prints it as SQL, or checks it. */
export const migrate: Command<MigrateOptions> = async (call) => {
  const { sql, check, from } = call.options
  if (sql && check) throw usageError('--sql and --check contradict each other. Choose one.')
  if (from !== undefined && !sql) throw usageError('--from belongs to --sql: it says which steps to print.')
  if (sql) return printSql(call)
  if (check) return checkSchema(call)

  return withSession(
    call,
    async ({ store }) => {
      await store.migrate()
      if (call.terminal.isJson) call.terminal.printJson({ isCurrent: true })
      else call.terminal.print('The schema is up to date.')
      return exitCodes.done
    },
    { create: true },
  )
}

async function printSql(call: CommandCall<MigrateOptions>) {
  const { from } = call.options
  const config = await configOf(call)
  const revision = from === undefined ? {} : { from: wholeNumber('--from', from, 0, 1_000_000) }
  const text = await schemaText(call, config, revision)
  if (text === undefined)
    throw usageError('This store has no schema in SQL. Run sendoff migrate without --sql.')
  if (call.terminal.isJson) call.terminal.printJson({ sql: text })
  else call.terminal.print(text)
  return exitCodes.done
}

async function schemaText(
  call: CommandCall<MigrateOptions>,
  config: Awaited<ReturnType<typeof configOf>>,
  revision: { readonly from?: number },
): Promise<string | undefined> {
  const url = urlOf(call, config)
  if (url !== undefined) return schemaSqlOf(url, { ...placeOf(call, config), ...revision })
  if (config.store === undefined) throw noStore()
  const store = await openStoreOf(call, config, { create: false, connections: 1 })
  try {
    return store.schemaSql?.(revision)
  } finally {
    await store.close()
    await config.close?.()
  }
}

async function checkSchema(call: CommandCall<MigrateOptions>) {
  return withSession(call, async ({ admin }) => {
    const findings = (await admin.doctor()).filter(isAboutSchema)
    const isCurrent = findings.length === 0
    if (call.terminal.isJson) call.terminal.printJson({ isCurrent, findings })
    else if (isCurrent) call.terminal.print('The schema is up to date.')
    else printFindings(call.terminal, findings)
    return isCurrent ? exitCodes.done : exitCodes.negative
  })
}

// That newer code has made the schema is an info: this code works with it.
function isAboutSchema({ code, severity }: Finding): boolean {
  return severity !== 'info' && /^(?:SCHEMA|INDEX)_/.test(code) && code !== 'INDEX_BLOATED'
}
