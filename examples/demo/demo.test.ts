import { equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'

describe('the demo', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sendoff-demo-test-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it(
    'loses no event although its worker is killed, ends on its own and cleans up',
    { timeout: 60_000 },
    async () => {
      const demo = runDemo(folder)
      const [output, [code]] = await Promise.all([text(demo.stdout), once(demo, 'exit')])
      const lines = output.trimEnd().split('\n')
      const [, written, delivered] = /^written=(\d+) delivered=(\d+) lost=0$/.exec(lines.at(-1)!) ?? []

      equal(code, 0, output)
      ok(Number(written) > 100, output)
      equal(delivered, written, output)
      match(output, /worker-1 was killed while it held [1-9]\d* events/)
      ok(!output.includes('\x1b'), 'no escape codes without a terminal')
      equal(readdirSync(folder).join(), '')
    },
  )

  it('leaves nothing behind when it is interrupted', { timeout: 30_000 }, async () => {
    const demo = runDemo(folder)
    const exited = once(demo, 'exit')
    for await (const chunk of demo.stdout)
      if (String(chunk).includes('worker-1 delivers')) demo.kill('SIGINT')

    // The output ends only when the demo's child processes, which share it, have ended as well.
    equal((await exited)[0], 130)
    equal(readdirSync(folder).join(), '')
  })

  it(
    'is shown live in the dashboard with --serve, until it is interrupted',
    { timeout: 30_000 },
    async () => {
      const demo = runDemo(folder, '--serve')
      const exited = once(demo, 'exit')
      let output = ''
      for await (const chunk of demo.stdout) {
        output += String(chunk)
        const [, url] = /dashboard: (http:\S+)/.exec(output) ?? []
        if (url === undefined || demo.killed) continue
        match(await (await fetch(url)).text(), /<title>Sendoff<\/title>/)
        const response = await fetch(`${url}api/outboxes/shop/state`)
        const { overview } = (await response.json()) as { overview: { processes: readonly object[] } }
        ok(overview.processes.length > 0)
        demo.kill('SIGINT')
      }
      equal((await exited)[0], 130)
      equal(readdirSync(folder).join(), '')
    },
  )
})

function runDemo(temporaryFolder: string, ...args: readonly string[]) {
  return spawn(process.execPath, [join(import.meta.dirname, 'demo.ts'), ...args], {
    env: { ...process.env, TMPDIR: temporaryFolder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
