import { Redis } from 'ioredis'
import type { Conditions } from '../../store-bench.ts'
import { processStat } from '../sql/process-stat.ts'

/** Returns the key prefix of a database of this run. */
export function prefixOf(name: string, { run }: Conditions): string {
  return `sendoff-bench-${run}-${name}`
}

/** Removes every key of this run. */
export async function removeDatabases(conditions: Conditions): Promise<void> {
  await withClient(async (client) => {
    for await (const keys of client.scanStream({ match: `{${prefixOf('', conditions)}*`, count: 1_000 })) {
      const found = keys as string[]
      // Awaited, so that the server has nothing to clean up during a measurement.
      if (found.length > 0) await client.del(...found)
    }
  })
}

/** Returns how many commands the server has run, for all clients, including those of scripts. */
export async function commandCount(): Promise<number> {
  return withClient(async (client) => Number(await information(client, 'stats', 'total_commands_processed')))
}

/** Returns the microseconds of CPU that the server has used so far; undefined if it cannot be seen. */
export async function serverCpuUs(): Promise<number | undefined> {
  const pid = await withClient((client) => information(client, 'server', 'process_id'))
  const stat = processStat(Number(pid))
  return stat?.name === 'redis-server' ? stat.ownUs : undefined
}

async function information(client: Redis, section: string, name: string): Promise<string | undefined> {
  return new RegExp(`^${name}:(.*)\\r$`, 'm').exec(await client.info(section))?.[1]
}

async function withClient<Result>(work: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(process.env['REDIS_URL']!)
  try {
    return await work(client)
  } finally {
    await client.quit()
  }
}
