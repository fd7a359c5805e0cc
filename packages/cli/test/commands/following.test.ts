import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inTerminal } from '../in-terminal.ts'
import { program, RunningCall } from '../run-sendoff.ts'
import { fill, newSqliteOutbox, withWorker, writePending } from '../tested-outbox.ts'

describe('following an outbox', { concurrency: 3 }, () => {
  it('tail prints what is written and what becomes of it, and Ctrl-C ends it', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const [old] = await writePending(outbox, 'OrderPaid', 1)
    const call = new RunningCall(['tail', '--interval', '0.05', '--json', ...outbox.args])
    await call.until(new RegExp(`"kind":"written","event":\\{.*${old}`))
    const [id] = await writePending(outbox, 'OrderPaid', 1)
    await call.until(new RegExp(`"kind":"written","event":\\{.*${id}`))
    await withWorker(outbox, (worker) => worker.drain())
    await call.until(new RegExp(`"kind":"changed","event":\\{.*${id}.*"state":"DONE"`))
    await call.until(new RegExp(`"kind":"changed","event":\\{.*${old}.*"state":"DONE"`))
    call.kill('SIGINT')
    const { code, stdout } = await call.ended

    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; event: { eventId: string } })
    deepEqual(
      [code, lines.filter(({ kind }) => kind === 'written').map(({ event }) => event.eventId)],
      [0, [old, id]],
    )
  })

  it('tail shows failures with their error, in lines for people', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const call = new RunningCall([
      'tail',
      '--interval',
      '0.05',
      '-n',
      '0',
      '--type',
      'OrderPlaced',
      ...outbox.args,
    ])
    await call.until(/Following new events/)
    await fill(outbox, { dead: 1, done: 1 })
    await call.until(/DEAD .* OrderPlaced .*TimeoutError: the carrier is away/)
    call.kill('SIGTERM')
    const { code, stdout } = await call.ended
    deepEqual([code, stdout.includes('OrderPaid')], [0, false])
  })

  it('status --watch draws on a terminal, and restores it at the end', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 1, done: 2 })
    const { code, output } = await inTerminal(
      [process.execPath, program, 'status', '--watch', '--interval', '0.1', ...outbox.args],
      [[/Ctrl-C ends[^]*Ctrl-C ends/, '\u0003']],
    )
    equal(code, 0, output)
    ok(output.startsWith('\u001b[?1049h\u001b[?25l'))
    ok(output.trimEnd().endsWith('\u001b[?25h\u001b[?1049l'))
    match(
      output.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, ''),
      /pending 0 .* dead 1 .* done 2[^]*pending +▁▁ {2}0/,
    )
  })

  it('status --watch fits the screen, and keeps what counts most on a small one', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 30, done: 30 })
    await writePending(outbox, 'AnEventWithALongNameThatMakesItsTableWide', 3)
    const { output } = await inTerminal(
      [process.execPath, program, 'status', '--watch', '--interval', '0.1', ...outbox.args],
      [[/Ctrl-C ends/, '\u0003']],
      { columns: 60, rows: 18 },
    )
    const [, first] = output.replace(/\u001b\[[\d;]*[mK]/g, '').split('\u001b[H')
    const lines = first!.split('\u001b[J')[0]!.split(/\r+\n/)
    ok(lines.length <= 18, `${lines.length} lines`)
    deepEqual(
      lines.filter((line) => line.length > 60),
      [],
    )
    match(lines[0]!, /test\.db/)
    match(lines.join('\n'), /^pending +▁* ▁*█ {2}3$[^]*^lag [^]*^dead +█ {2}30$[^]*Ctrl-C ends$/m)
  })

  it('tail keeps an event to a line of a narrow terminal, and its error to a second one', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await fill(outbox, { dead: 1, done: 1 })
    const { output } = await inTerminal(
      [process.execPath, program, 'tail', ...outbox.args],
      [[/Following new events/, '\u0003']],
      { columns: 60, rows: 16 },
    )
    const shown = output.replace(/\u001b\[[\d;]*m/g, '').split('\r\n')
    match(
      shown.join('\n'),
      /^\S+ {2}DEAD {5}\w{26} {2}OrderPlaced\n {10}attempt 1: TimeoutError: the carrier is away$/m,
    )
    match(shown.join('\n'), /^\S+ {2}DONE {5}\w{26} {2}OrderPaid$/m)
    deepEqual(
      shown.filter((line) => line.length > 60),
      [],
    )
  })

  it('status --watch --json prints a line at each interval', async (test) => {
    const outbox = await newSqliteOutbox(test)
    const call = new RunningCall(['status', '--watch', '--interval', '0.05', '--json', ...outbox.args])
    await call.until(/^\{.*\}\n\{.*\}\n/)
    call.kill('SIGINT')
    equal((await call.ended).code, 0)
  })
})
