import type { RedisDriver } from './drivers/redis-driver.ts'

/** Returns which settings of the servers could lose acknowledged events, in words for operators. */
export async function settingsThatLoseEvents(driver: RedisDriver): Promise<readonly string[]> {
  try {
    const servers = await driver.settings(['appendonly', 'appendfsync', 'maxmemory', 'maxmemory-policy'])
    return [...new Set(servers.flatMap(warningsOf))]
  } catch (error) {
    // Many providers do not allow reading the settings.
    const reason = error instanceof Error ? error.message : String(error)
    return [
      `Redis does not reveal its settings (${reason}): make sure that it keeps an append-only file and evicts nothing.`,
    ]
  }
}

function warningsOf(settings: ReadonlyMap<string, string>): readonly string[] {
  const warnings: string[] = []
  if (settings.get('appendonly') === 'no') {
    warnings.push(
      'Redis keeps no append-only file (appendonly no): events are lost when it restarts. Set appendonly yes.',
    )
  } else if (settings.get('appendfsync') === 'no') {
    warnings.push(
      'Redis lets the operating system decide when to write its file (appendfsync no): many seconds of events are lost when ' +
        'the machine goes down. Set appendfsync always, or everysec if a second of them may be lost.',
    )
  }
  const policy = settings.get('maxmemory-policy')
  if (policy !== undefined && policy !== 'noeviction' && !policy.startsWith('volatile-')) {
    warnings.push(
      `Redis may evict the events when its memory is full (maxmemory-policy ${policy}). Set maxmemory-policy noeviction.`,
    )
  }
  return warnings
}
