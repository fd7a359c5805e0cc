import { doesNotMatch, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ProcessGroup } from '../services/processes/process-group.ts'

const testFolder = join(import.meta.dirname, '..')

describe('npm test', () => {
  const folders: string[] = []
  after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

  it('runs all test files and counts their leaves', async () => {
    const project = makeProject({
      'packages/a/test/deep/one.test.ts': `describe('a suite', () => { it('one', () => {}); it('two', () => {}) })`,
      'examples/two.test.ts': `it('outer', async (t) => { await t.test('inner', () => {}) })`,
      'packages/a/test/not-a-test.ts': `throw new Error('loaded')`,
    })
    const run = await runTests(project)

    equal(run.lastLine, '3 passed, 0 failed, 0 skipped')
    equal(run.code, 0)
    match(run.output, /^ok {4}packages\/a\/test\/deep\/one\.test\.ts {2}\(2 passed, (?:\d+ ms|\d+\.\d s)\)$/m)
  })

  it('prints the name, place and error of a failure, and the output of its file', async () => {
    const project = makeProject({
      'test/bad.test.ts': `describe('a suite', () => {\n  it('breaks', () => { console.log('a clue'); throw new Error('the reason') })\n})`,
      'test/good.test.ts': `it('works', () => { console.log('chatter') })`,
    })
    const run = await runTests(project)

    equal(run.lastLine, '1 passed, 1 failed, 0 skipped')
    equal(run.code, 1)
    match(
      run.output,
      /test\/bad\.test\.ts > a suite > breaks\n +at test\/bad\.test\.ts:3:3\n +Error: the reason/,
    )
    match(
      run.output,
      /^FAIL {2}test\/bad.*\n +test\/bad\.test\.ts > a suite > breaks$/m,
      'as soon as it failed',
    )
    match(run.output, /Output of test\/bad\.test\.ts:\n +a clue/)
    equal(run.output.includes('chatter'), false)
  })

  it('counts what fails outside of a test', async () => {
    const project = makeProject({
      'test/body.test.ts': `describe('body', () => { throw new Error('in the body') })`,
      'test/early-exit.test.ts': `it('leaves', () => process.exit(0))`,
      'test/empty.test.ts': `export {}`,
      'test/late.test.ts': `it('throws later', () => { setTimeout(() => { throw new Error('too late') }) })`,
      'test/load.test.ts': `import './missing.ts'`,
      'test/parent.test.ts': `it('parent', async (t) => { await t.test('child', () => {}); throw new Error('own') })`,
    })
    const run = await runTests(project)

    equal(run.lastLine, '2 passed, 6 failed, 0 skipped')
    equal(run.code, 1)
    match(run.output, /too late/)
  })

  it('prints what tests have measured, at full size and after a failure', async () => {
    const measuring = `it('measures', (t) => t.diagnostic('tests 12 of a kind'))`
    const project = makeProject({ 'test/some.test.ts': measuring })
    const note = /^ok {4}test\/some\.test\.ts .*\n {6}tests 12 of a kind$/m
    match((await runTests(project, ['--full'])).output, note)
    doesNotMatch((await runTests(project)).output, /of a kind|duration_ms/)

    const failing = makeProject({
      'test/some.test.ts': `${measuring}; it('breaks', () => { throw new Error('no') })`,
    })
    match((await runTests(failing)).output, /^FAIL {2}test\/some\.test\.ts .*\n {6}tests 12 of a kind$/m)
  })

  it('lists every skip with its reason', async () => {
    const project = makeProject({
      'test/some.test.ts': `it('runs', () => {}); it('waits', { skip: 'no moon' }, () => {})`,
    })
    const run = await runTests(project)

    equal(run.lastLine, '1 passed, 0 failed, 1 skipped')
    equal(run.code, 0)
    match(run.output, /SKIPPED\n +test\/some\.test\.ts > waits: no moon/)
  })

  it('fails when every test was skipped', async () => {
    const run = await runTests(makeProject({ 'test/none.test.ts': `it('waits', { skip: true }, () => {})` }))

    equal(run.lastLine, '0 passed, 0 failed, 1 skipped')
    equal(run.code, 1)
  })

  it('turns a hang into a failure that names the test', async () => {
    const project = makeProject({ 'test/hang.test.ts': `it('never ends', () => new Promise(() => {}))` })
    const run = await runTests(project, ['--timeout-ms', '1000'])

    equal(run.lastLine, '0 passed, 1 failed, 0 skipped')
    match(run.output, /It did not end within 1 s\. Still running: never ends/)
  })

  it('runs only files that match a word of the command line', async () => {
    const project = makeProject({
      'test/red.test.ts': `it('red', () => {})`,
      'test/blue/sky.test.ts': `it('blue', () => {})`,
      'test/green.test.ts': `it('green', () => {})`,
    })

    equal((await runTests(project, ['blue'])).lastLine, '1 passed, 0 failed, 0 skipped')
    equal((await runTests(project, ['blue', 'red'])).lastLine, '2 passed, 0 failed, 0 skipped')

    const none = await runTests(project, ['violet'])
    match(none.output, /No test file has "violet" in its path\./)
    equal(none.lastLine, '0 passed, 0 failed, 0 skipped')
    equal(none.code, 1)
  })

  it('leaves services and long-running processes out of --unit', async () => {
    const project = makeProject({
      'test/plain.test.ts': `it('plain', () => {})`,
      'test/faults/kill.test.ts': `it('fault', () => {})`,
      'test/store.postgres.service.test.ts': `it('service', () => {})`,
    })
    equal((await runTests(project, ['--unit'])).lastLine, '1 passed, 0 failed, 0 skipped')
  })

  it('asks for the full size with --full', async () => {
    const project = makeProject({
      'test/scale.test.ts': `it('is full', (t) => t.assert.equal(process.env.SENDOFF_TEST_SCALE, 'full'))`,
    })
    equal((await runTests(project, ['--full'])).lastLine, '1 passed, 0 failed, 0 skipped')
  })

  it('fails a file that asks for an unknown service', async () => {
    const project = makeProject({ 'test/store.abacus.service.test.ts': `it('counts', () => {})` })
    const run = await runTests(project)

    equal(run.code, 1)
    match(run.output, /It needs abacus, not listed in test\/services\/services\.ts/)
  })

  it('skips the files of a service that is missing, and fails if services are required', async () => {
    const project = makeProject({
      'test/store.abacus.service.test.ts': `it('counts', () => {})`,
      'test/plain.test.ts': `it('plain', () => {})`,
    })
    const script = copyRunner(
      project,
      `{ name: 'abacus', urlVariable: 'ABACUS_URL', find: async () => false }`,
    )

    const lenient = await runTests(project, [], { script })
    equal(lenient.lastLine, '1 passed, 0 failed, 1 skipped')
    equal(lenient.code, 0)
    match(lenient.output, /^MISSING SERVICE abacus: it was not found on this machine/m)
    match(lenient.output, /store\.abacus\.service\.test\.ts: missing service abacus/)

    const strict = await runTests(project, [], { script, env: { REQUIRE_SERVICES: 'all' } })
    equal(strict.lastLine, '1 passed, 1 failed, 1 skipped')
    equal(strict.code, 1)

    const told = await runTests(project, [], { script, env: { REQUIRE_SERVICES: 'all', ABACUS_URL: 'here' } })
    equal(told.lastLine, '2 passed, 0 failed, 0 skipped')
  })

  it('skips the files of an extra service that cannot be had, even if services are required', async () => {
    const project = makeProject({
      'test/store.abacus.service.test.ts': `it('counts', () => {})`,
      'test/plain.test.ts': `it('plain', () => {})`,
    })
    const find = `async find() { throw new Error('the suite has moved') }`
    const script = copyRunner(project, `{ name: 'abacus', urlVariable: 'ABACUS_URL', extra: true, ${find} }`)

    for (const required of [undefined, 'all']) {
      const run = await runTests(project, [], { script, env: { REQUIRE_SERVICES: required } })
      equal(run.lastLine, '1 passed, 0 failed, 1 skipped')
      equal(run.code, 0)
      match(run.output, /^MISSING SERVICE abacus: .*the suite has moved/m)
      match(run.output, /SKIPPED\n +test\/store\.abacus\.service\.test\.ts: missing service abacus/)
    }
  })

  it('ends the processes that a test file leaves behind', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const project = makeProject({
      'test/leaves.test.ts': `
        import { spawn } from 'node:child_process'
        import { once } from 'node:events'
        it('forgets a child', async () => {
          const script = "require('net').connect(${port}, '127.0.0.1', () => console.log('connected'))"
          const child = spawn(process.execPath, ['-e', script])
          await once(child.stdout, 'data')
          child.unref()
          child.stdin.destroy(), child.stdout.destroy(), child.stderr.destroy()
        })`,
    })
    const connected = once(server, 'connection') as Promise<[Socket]>
    const run = await runTests(project, ['--timeout-ms', '10000'])

    equal(run.lastLine, '1 passed, 0 failed, 0 skipped')
    const [socket] = await connected
    socket.on('error', () => {}).resume()
    if (!socket.closed) await once(socket, 'close')
    server.close()
  })

  function makeProject(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'sendoff-runner-'))
    folders.push(folder)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), `import { describe, it } from 'node:test'\n${text}\n`)
    }
    return folder
  }
})

interface Run {
  readonly code: number | null
  readonly output: string
  readonly lastLine: string | undefined
}

interface RunOptions {
  readonly script?: string
  readonly env?: NodeJS.ProcessEnv
}

async function runTests(
  project: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<Run> {
  const script = options.script ?? join(testFolder, 'run.ts')
  const env = { ...process.env, SENDOFF_TEST_SCALE: undefined, REQUIRE_SERVICES: undefined, ...options.env }
  const group = new ProcessGroup(process.execPath, [script, ...args], { cwd: project, env })
  const { code } = await group.ended
  await group.stop()

  return { code, output: group.output, lastLine: group.output.trimEnd().split('\n').at(-1) }
}

/** Copies the runner, with the given service as the only one. */
function copyRunner(project: string, service: string): string {
  const copy = join(project, 'runner')
  cpSync(testFolder, copy, { recursive: true })
  writeFileSync(join(copy, 'services', 'services.ts'), `export const services = [${service}]`)
  return join(copy, 'run.ts')
}
