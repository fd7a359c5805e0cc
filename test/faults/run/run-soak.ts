import { join } from 'node:path'
import { describeEnd, ProcessGroup, within } from '../../services/processes/process-group.ts'
import type { SoakReport } from '../processes/soak-process.ts'

export interface SoakOptions {
  readonly location: string
  readonly durationMs: number
  readonly seed: number
}

/** Starts a process under mixed load, and returns its report about itself. */
export async function runSoak({ location, durationMs, seed }: SoakOptions): Promise<SoakReport> {
  const script = join(import.meta.dirname, '../processes/soak-process.ts')
  const group = new ProcessGroup(process.execPath, [
    '--expose-gc',
    script,
    String(durationMs),
    location,
    String(seed),
  ])
  try {
    // It has to end on its own: anything that kept it alive would be a leak.
    const end = await within(durationMs + 90_000, group.ended)
    const what = end === undefined ? 'did not end' : describeEnd(end)
    const report = /^\{.*\}$/m.exec(group.output)?.[0]
    if (end?.code !== 0 || report === undefined)
      throw new Error(`The soak ${what}. Its output:\n${group.output}`)
    return JSON.parse(report) as SoakReport
  } finally {
    await group.stop('SIGKILL')
  }
}
