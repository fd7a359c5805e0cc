import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { nodeRelease } from '../../../test/package/node-release.ts'
import { installedWith } from './installed-with.ts'
import { RunningCall, sendoff } from './run-sendoff.ts'
import { newFolder, newSqliteOutbox, writePending } from './tested-outbox.ts'

const password = 'ge%2Fheim-17'

describe('bad input', { concurrency: 3 }, () => {
  const contradictions: readonly (readonly [args: string, message: RegExp])[] = [
    ['migrate --sql --check', /--sql and --check contradict/],
    ['migrate --from 1', /--from belongs to --sql/],
    ['status --interval 3', /--interval belongs to --watch/],
    ['status --watch', /there is none. Leave it out, or add --json/],
    ['replay', /Which events\? Narrow them/],
    ['replay --all --type A', /--all and a filter contradict/],
    ['replay --type A --dry-run --yes', /--dry-run and --yes contradict/],
    ['replay --plan 1 --type A', /--plan continues a plan as it was made/],
    ['replay --plan 1 --dry-run', /--plan and --dry-run contradict/],
    ['replay e-1 --id e-2', /The event is named twice/],
    ['replay --type A --rate fast', /--rate "fast" is no number above 0/],
    ['replay --since 1h --until 2h --type A', /--since is not before --until/],
    ['list --since yesterday', /--since "yesterday" is no time/],
    ['list --status LOST', /--status "LOST" is no state/],
    ['list --limit 0', /--limit "0" is no whole number from 1 to 1000/],
    ['pause --type A --destination b', /--type and --destination contradict/],
    ['resume', /Resume what\?/],
    ['tail --until 1h', /--until has no meaning/],
    ['relay', /Where should events go\?/],
    ['relay --to carrier-pigeon://roof', /has one of these forms/],
    ['relay --to kafka://localhost:9092', /needs brokers and a topic/],
    ['relay --to https://example.com --port 99999', /--port "99999" is no whole number/],
    ['relay --to https://example.com --mode quick', /knows no mode "quick"/],
    ['relay --to smtp://mail --mode ordered', /takes all mails of its table/],
    ['init --database oracle', /--database "oracle" is none of/],
    ['completion tcsh', /no completion for "tcsh"/],
  ]
  for (const [args, message] of contradictions) {
    it(`is refused, and nothing is done: ${args}`, async (test) => {
      const outbox = await newSqliteOutbox(test)
      const { code, stdout, stderr } = await sendoff([...args.split(' '), ...outbox.args], {
        cwd: newFolder(test),
      })
      equal(code, 2, stderr)
      match(stderr, message)
      deepEqual([stdout, stderr.trim().split('\n').length], ['', 1])
    })
  }

  it('an unknown command or option names the one that was meant', async () => {
    const command = await sendoff(['statsu'])
    equal(command.code, 2)
    match(command.stderr, /unknown command 'statsu'\n\(Did you mean status\?\)/)
    const option = await sendoff(['list', '--statsu', 'DEAD'])
    equal(option.code, 2)
    match(option.stderr, /unknown option '--statsu'\n\(Did you mean --status\?\)/)
    const json = await sendoff(['statsu', '--json'])
    equal(json.code, 2)
    match((JSON.parse(json.stderr) as { error: { message: string } }).error.message, /Did you mean status/)
  })

  it('without a store, the error says how to name one', async (test) => {
    const { code, stderr } = await sendoff(['status'], { cwd: newFolder(test) })
    equal(code, 2)
    match(
      stderr,
      /Name its store with --url, in the environment variable SENDOFF_URL, or in sendoff.config.ts/,
    )
  })

  it('a missing SQLite file is not created by looking at it', async (test) => {
    const { code, stderr } = await sendoff(['status', '--url', 'sqlite:none.db'], { cwd: newFolder(test) })
    equal(code, 3)
    match(stderr, /There is no file none.db/)
  })

  for (const scheme of ['postgres', 'mysql', 'redis']) {
    it(`a server that is not there is named, and the password is not: ${scheme}`, async (test) => {
      const url = `${scheme}://ann:${password}@127.0.0.1:1/shop`
      for (const args of [['status'], ['status', '--json']]) {
        const result = await sendoff([...args, '--url', url], { cwd: newFolder(test) })
        equal(result.code, 3)
        match(result.stderr, new RegExp(`Cannot connect to ${scheme}://ann@127.0.0.1:1/shop: .*ECONNREFUSED`))
        doesNotMatch(result.stderr + result.stdout, /heim/)
      }
    })
  }

  it('an address that cannot be read is not quoted', async (test) => {
    const cwd = newFolder(test)
    for (const url of ['postgres://ann:geheim/17@[db', 'oracle://ann:geheim@db/shop', 'ann:geheim@db']) {
      const result = await sendoff(['status', '--url', url], { cwd })
      equal(result.code, 2)
      doesNotMatch(result.stderr, /geheim/)
    }
    const misplaced = await sendoff(['postgres://ann:geheim@db/shop'], { cwd })
    equal(misplaced.code, 2)
    doesNotMatch(misplaced.stderr, /geheim/)
    const target = await sendoff(['relay', '--url', 'sqlite:a.db', '--to', 'amqp://ann:geheim/17@[db'], {
      cwd,
    })
    equal(target.code, 2)
    doesNotMatch(target.stderr, /geheim/)
  })

  it('without a driver, the error says what to install', async (test) => {
    const options = installedWith(test, [])
    const expected = [
      ['postgres://db/shop', 'npm install pg (or postgres)'],
      ['mysql://db/shop', 'npm install mysql2 (or mariadb)'],
      ['redis://db', 'npm install ioredis (or redis)'],
    ] as const
    for (const [url, advice] of expected) {
      const { code, stderr } = await sendoff(['status', '--url', url], options)
      equal(code, 3)
      equal(stderr.includes(advice) && stderr.includes('OUTBOX_DRIVER_MISSING'), true, stderr)
    }
  })

  it('a Node that is too old gets one line', async (test) => {
    const node = await nodeRelease('8.17.0')
    if ('missing' in node) return test.skip(node.missing)
    const { code, stdout, stderr } = await sendoff(['status'], { node: node.executable })
    deepEqual([code, stdout, stderr], [2, '', 'sendoff needs Node 22.13 or newer. This is Node 8.17.0.\n'])
  })

  it('a closed pipe ends a command silently', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await writePending(outbox, 'OrderPlaced', 1_000)
    for (const args of [
      ['list', '-n', '1000'],
      ['list', '-n', '1000', '--json'],
      ['tail', '--interval', '0.05', '-n', '1000'],
    ]) {
      const call = new RunningCall([...args, ...outbox.args])
      call.closeOutput()
      const { code, stderr } = await call.ended
      deepEqual(
        [code, stderr.replace(/^(There are more: --cursor \S+|Following new events.*)\n$/, '')],
        [0, ''],
        args.join(' '),
      )
    }
  })

  it('a stored text does not steer the terminal', async (test) => {
    const outbox = await newSqliteOutbox(test)
    await writePending(outbox, 'Evil\u001b[2J', 1)
    const { stdout } = await sendoff(['list', ...outbox.args])
    match(stdout, /Evil\\u001b\[2J/)
    equal(stdout.includes('\u001b'), false)
  })

  const configs: readonly (readonly [what: string, text: string, message: RegExp])[] = [
    ['throws', `throw new TypeError('no such setting')`, /cannot be loaded: TypeError: no such setting/],
    ['cannot be parsed', 'export default {', /cannot be loaded: SyntaxError/],
    ['exports nothing', 'export const url = 1', /has no default export/],
    ['has an unknown part', `export default { uri: 'sqlite:a.db' }`, /unknown part "uri"/],
    ['has a part of a wrong kind', `export default { url: 5 }`, /part "url" .* is no string/],
  ]
  for (const [what, text, message] of configs) {
    it(`a configuration that ${what} is named, in one line`, async (test) => {
      const cwd = newFolder(test)
      writeFileSync(join(cwd, 'sendoff.config.mjs'), text)
      const { code, stdout, stderr } = await sendoff(['status'], { cwd })
      equal(code, 2, stderr)
      match(stderr, message)
      deepEqual([stdout, stderr.trim().split('\n').length], ['', 1])
    })
  }

  it('a configuration that is not there is named', async (test) => {
    const { code, stderr } = await sendoff(['status', '--config', 'none.ts'], { cwd: newFolder(test) })
    equal(code, 2)
    match(stderr, /There is no configuration .*none\.ts/)
  })
})
