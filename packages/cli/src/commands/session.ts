import { hostname, userInfo } from 'node:os'
import type { OutboxAdmin } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import type { SendoffConfig } from '../config/config.ts'
import { openStore, type OpenStoreOptions } from '../open-store/open-store.ts'
import type { SqlOrOtherStore } from '../open-store/store-client.ts'
import type { CommandCall } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'

/** A store that a command works on, and its admin. */
export interface Session {
  readonly store: SqlOrOtherStore
  /** Acts under the name of the operator. */
  readonly admin: OutboxAdmin<unknown>
  readonly actor: string
  /** The table that the call or its configuration names; undefined if neither does. */
  readonly table: string | undefined
}

/** Opens the store of a call, runs `work` on it, and closes it. With `create`, a missing file is made. */
export async function withSession<Options extends CommonOptions, Result>(
  call: CommandCall<Options>,
  work: (session: Session) => Promise<Result>,
  { create = false, connections = 4 }: { readonly create?: boolean; readonly connections?: number } = {},
): Promise<Result> {
  const config = await configOf(call)
  const [{ outboxAdmin }, store] = await Promise.all([
    import('sendoff/admin'),
    openStoreOf(call, config, { create, connections }),
  ])
  try {
    const actor = actorOf(call, config)
    const { table } = placeOf(call, config)
    return await work({ store, actor, table, admin: outboxAdmin({ store }).as(actor) })
  } finally {
    await closeStore(store, config)
  }
}

/** Closes a store, and what its configuration opened for it. */
export async function closeStore(store: SqlOrOtherStore, config: SendoffConfig): Promise<void> {
  await store.close()
  await config.close?.()
}

/** Loads the configuration, if there is one. */
export async function configOf({
  options,
  folder,
  secrets,
}: CommandCall<CommonOptions>): Promise<SendoffConfig> {
  const { loadConfig } = await import('../config/load-config.ts')
  const config = (await loadConfig(folder, options.config)) ?? {}
  if (config.url !== undefined) secrets.addUrl(config.url)
  return config
}

/** Opens the store of a call: that of `--url`, of `SENDOFF_URL`, or of the configuration. */
export async function openStoreOf(
  call: CommandCall<CommonOptions>,
  config: SendoffConfig,
  { create, connections }: { readonly create: boolean; readonly connections: number },
): Promise<SqlOrOtherStore> {
  const url = urlOf(call, config)
  if (url !== undefined) return openStore(url, { ...placeOf(call, config), create, connections })
  if (config.store === undefined) throw noStore()
  if (call.options.table !== undefined || call.options.schema !== undefined) {
    throw usageError('The configuration has a store of its own. Leave out --table and --schema.')
  }
  return await config.store()
}

/** Returns the address of the store; undefined if the configuration has a store of its own, or none. */
export function urlOf(
  { options, env, secrets }: CommandCall<CommonOptions>,
  config: SendoffConfig,
): string | undefined {
  const own = env['SENDOFF_URL'] === '' ? undefined : env['SENDOFF_URL']
  const url = options.url ?? own ?? (config.store === undefined ? config.url : undefined)
  if (url !== undefined) secrets.addUrl(url)
  return url
}

/** Returns the table and the schema of a call. */
export function placeOf(
  { options }: CommandCall<CommonOptions>,
  config: SendoffConfig,
): Pick<OpenStoreOptions, 'table' | 'schema'> {
  const table = options.table ?? config.table
  const schema = options.schema ?? config.schema
  return { ...(table !== undefined && { table }), ...(schema !== undefined && { schema }) }
}

/** The error of a call that says nothing about the store. */
export function noStore() {
  return usageError(
    'Which outbox? Name its store with --url, in the environment variable SENDOFF_URL, or in sendoff.config.ts. ' +
      'For example: sendoff status --url postgres://localhost/shop',
  )
}

function actorOf({ options, env }: CommandCall<CommonOptions>, config: SendoffConfig): string {
  const own = env['SENDOFF_ACTOR'] === '' ? undefined : env['SENDOFF_ACTOR']
  return options.as ?? own ?? config.actor ?? `${userName()}@${hostname()}`
}

// In a container, the user may have no name.
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'operator'
  }
}
