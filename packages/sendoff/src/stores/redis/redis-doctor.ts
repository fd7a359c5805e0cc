import type { Finding } from '../../store/index.ts'
import { rightsMissing, schemaFindings } from '../schema-findings.ts'
import type { RedisDriver } from './drivers/redis-driver.ts'
import type { RunScript } from './drivers/run-script.ts'
import { placeOf, storedSchema } from './schema-version.ts'

/** Examines a Redis store: its data, and the settings of its servers that could lose acknowledged events. */
export async function examine(
  driver: RedisDriver,
  run: RunScript,
  prefix: string,
): Promise<readonly Finding[]> {
  const schema = await schemaFindings({
    place: placeOf(prefix),
    read: () => storedSchema(run, prefix),
    isNotPermitted: () => false,
  })
  return [...schema, ...(await settingFindings(driver))]
}

async function settingFindings(driver: RedisDriver): Promise<readonly Finding[]> {
  let servers: readonly ReadonlyMap<string, string>[]
  try {
    servers = await driver.settings(['appendonly', 'appendfsync', 'maxmemory', 'maxmemory-policy'])
  } catch (error) {
    // Many providers do not allow reading the settings.
    const reason = error instanceof Error ? error.message : String(error)
    return [
      rightsMissing('the settings of Redis', reason, {
        fix: 'Make sure that Redis keeps an append-only file and evicts nothing.',
      }),
    ]
  }
  const findings = servers.flatMap(findingsOf)
  return findings.filter(
    ({ message }, index) => findings.findIndex((one) => one.message === message) === index,
  )
}

function findingsOf(settings: ReadonlyMap<string, string>): readonly Finding[] {
  const findings: Finding[] = []
  if (settings.get('appendonly') === 'no') {
    findings.push({
      code: 'DURABILITY_OFF',
      severity: 'error',
      message: 'Redis keeps no append-only file (appendonly no): events are lost when it restarts.',
      fix: 'Set appendonly yes.',
    })
  } else if (settings.get('appendfsync') === 'no') {
    findings.push({
      code: 'DURABILITY_REDUCED',
      severity: 'warning',
      message:
        'Redis lets the operating system decide when to write its file (appendfsync no): many seconds of events are lost when the machine goes down.',
      fix: 'Set appendfsync always, or everysec if a second of them may be lost.',
    })
  }
  const policy = settings.get('maxmemory-policy')
  if (policy !== undefined && policy !== 'noeviction' && !policy.startsWith('volatile-')) {
    findings.push({
      code: 'EVICTION_ON',
      severity: 'error',
      message: `Redis may evict the events when its memory is full (maxmemory-policy ${policy}).`,
      fix: 'Set maxmemory-policy noeviction.',
    })
  }
  return findings
}
