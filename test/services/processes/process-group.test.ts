import { equal } from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ProcessGroup } from './process-group.ts'

const program = `
  import { ProcessGroup } from '${join(import.meta.dirname, 'process-group.ts')}'
  const child = new ProcessGroup('sleep', ['60'])
  console.log('child ' + child.pid)`

describe('a process group', { skip: !existsSync('/proc') && 'needs /proc' }, () => {
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    it(`ends with the process that started it when that is ended by ${signal}`, async () => {
      const parent = new ProcessGroup(process.execPath, ['--input-type=module', '-e', program])
      await parent.untilOutput(/^child \d+$/m)
      const child = Number(/^child (\d+)$/m.exec(parent.output)![1])
      equal(isRunning(child), true)

      process.kill(parent.pid!, signal)
      equal((await parent.ended).code, code)
      await untilGone(child)
    })
  }
})

// The system does not report the end of another process's child, so this polls. The only time limit is that
// of the test runner.
async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await delay(10)
}

/**
 * Returns whether a process runs. A process that has ended, but was not collected yet, has an id but no
 * memory.
 */
function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/exe`)
}
