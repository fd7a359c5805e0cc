import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { outboxAdmin } from 'sendoff/admin'
import { program, RunningCall, sendoff, sendoffJson } from '../run-sendoff.ts'
import { inTerminal } from '../in-terminal.ts'
import { fill, newSqliteOutbox, type TestedOutbox } from '../tested-outbox.ts'

interface AuditJson {
  readonly id: string
  readonly state: string
  readonly affected: number
  readonly at: string
  readonly updatedAt: string
}

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

describe('a plan', { concurrency: 3 }, () => {
  it('that Ctrl-C stops says how to continue, and does each event once', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 60, done: 0 })
    const call = new RunningCall(['replay', '--all', '--yes', '--rate', '5', ...outbox.args])
    await hasActed(outbox)
    call.kill('SIGINT')
    const { code, stdout } = await call.ended

    equal(code, 130)
    const [, id] =
      /Stopped: \d+ replayed so far\. Continue with: sendoff replay --plan (\d+)/.exec(stdout) ?? []
    const [entry] = await entries(outbox.args)
    deepEqual([entry!.id, entry!.state], [id, 'stopped'])
    ok(entry!.affected > 0 && entry!.affected < 60)

    const other = await sendoff(['cancel', '--plan', id!, ...outbox.args])
    equal(other.code, 2)
    match(other.stderr, new RegExp(`Continue it with: sendoff replay --plan ${id}`))
    const rest = await sendoffJson<{ result: { acted: number; state: string } }>([
      ...['replay', '--plan', id!, '--rate', '10000', ...outbox.args],
    ])
    deepEqual([rest.result.acted, rest.result.state], [60, 'done'])
  })

  it('keeps its pace, within 5 percent', { skip: !isFull && 'Only at full scale.' }, async (test) => {
    const [count, rate] = [3_000, 100]
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: count, done: 0 })
    const { code, stderr } = await sendoff(['replay', '--all', '--yes', '--rate', `${rate}`, ...outbox.args])
    equal(code, 0, stderr)
    const [entry] = await entries(outbox.args)
    equal(entry!.affected, count)
    const pace = count / ((Date.parse(entry!.updatedAt) - Date.parse(entry!.at)) / 1_000)
    test.diagnostic(`${pace.toFixed(1)} events per second of ${rate}`)
    ok(pace > rate * 0.95 && pace < rate * 1.05, `${pace.toFixed(1)} per second, not ${rate}`)
  })

  it('whose process was killed is continued by another', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 60, done: 0 })
    const call = new RunningCall(['replay', '--all', '--yes', '--rate', '5', ...outbox.args])
    await hasActed(outbox)
    call.kill('SIGKILL')
    await call.ended
    const [entry] = await entries(outbox.args)
    equal(entry!.state, 'running')
    const rest = await sendoffJson<{ result: { acted: number } }>([
      ...['replay', '--plan', entry!.id, '--rate', '10000', ...outbox.args],
    ])
    equal(rest.result.acted, 60)
  })

  it('asks in a terminal: a no does nothing, and a yes runs it with a bar', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 3, done: 0 })
    const command = [process.execPath, program, 'replay', '--all', ...outbox.args]
    const declined = await inTerminal(command, [[/\[y\/N\]/, 'n\r']])
    equal(declined.code, 5)
    match(declined.output, /3 events match/)
    match(declined.output, /Nothing was done/)
    equal((await entries(outbox.args)).length, 0)

    const agreed = await inTerminal(command, [[/\[y\/N\]/, 'y\r']])
    equal(agreed.code, 0, agreed.output)
    match(agreed.output, /█{30} 3\/3/)
    match(agreed.output, /3 replayed in/)
  })

  it('that Ctrl-C answers does nothing', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 1, done: 0 })
    const command = [process.execPath, program, 'purge', '--all', ...outbox.args]
    const { code, output } = await inTerminal(command, [[/\[y\/N\]/, '\u0003']])
    equal(code, 5, output)
    equal((await entries(outbox.args)).length, 0)
  })
})

/** Resolves when the newest plan has acted on some event. */
async function hasActed({ open }: TestedOutbox): Promise<void> {
  const store = await open()
  const { audit } = outboxAdmin({ store })
  for (let acted = 0; acted === 0;) acted = (await audit.list({ limit: 1 })).entries[0]?.affected ?? 0
  await store.close()
}

async function entries(args: readonly string[]): Promise<readonly AuditJson[]> {
  return (await sendoffJson<{ entries: AuditJson[] }>(['audit', ...args])).entries
}
