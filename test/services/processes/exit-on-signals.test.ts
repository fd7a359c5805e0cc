import { deepEqual, equal } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ProcessGroup } from './process-group.ts'

const program = `
  import { exitOnSignals } from '${join(import.meta.dirname, 'exit-on-signals.ts')}'
  process.on('exit', () => console.log('at exit'))
  exitOnSignals()
  exitOnSignals()
  setTimeout(() => {}, 60_000)`

describe('exiting on signals', () => {
  it('runs the exit handlers', async () => {
    const { code, output } = await runUntilSignal(`${program}; console.log('ready')`)
    equal(code, 143)
    deepEqual(output, ['ready', 'at exit'])
  })

  it('leaves a signal to another handler', async () => {
    const handler = `process.on('SIGTERM', () => setImmediate(() => { console.log('handled'); process.exit(7) }))`
    const { code, output } = await runUntilSignal(`${program}; ${handler}; console.log('ready')`)
    equal(code, 7)
    deepEqual(output, ['ready', 'handled', 'at exit'])
  })

  async function runUntilSignal(script: string): Promise<{ code: number | null; output: readonly string[] }> {
    const group = new ProcessGroup(process.execPath, ['--input-type=module', '-e', script])
    await group.untilOutput(/ready/)
    group.signal('SIGTERM')
    const { code } = await group.ended
    await group.stop()
    return { code, output: group.output.trim().split('\n') }
  }
})
