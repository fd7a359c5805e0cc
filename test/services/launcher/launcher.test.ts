import { deepEqual, equal, fail, match, rejects, throws } from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { echoService } from './echo-service.ts'
import { servicesAreRequired, withServices } from './launcher.ts'
import { namingMistake, neededServices } from './needed-services.ts'
import { ProcessGroup } from '../processes/process-group.ts'
import type { Service } from '../service.ts'

describe('the service launcher', () => {
  it('starts a service, hands out its address, and leaves nothing behind', async () => {
    const folders: string[] = []
    const service: Service = {
      ...echoService,
      start(folder) {
        folders.push(folder)
        return echoService.start(folder)
      },
    }
    const url = await withServices([service], async ({ environment, missing }) => {
      deepEqual(missing, [])
      equal(await echo(environment['ECHO_URL']!, 'hello'), 'hello')
      deepEqual(readdirSync(folders[0]!), ['data'])
      return environment['ECHO_URL']!
    })

    // Reset, if the server was just being killed.
    await rejects(echo(url, 'hello'), ({ code }: { code?: string }) =>
      /^ECONN(REFUSED|RESET)$/.test(code ?? ''),
    )
    equal(existsSync(dirname(folders[0]!)), false)
  })

  it('stops its services when the work fails, and passes the failure on', async () => {
    let url = ''
    const run = withServices([echoService], async ({ environment }) => {
      url = environment['ECHO_URL']!
      throw new Error('the tests failed')
    })

    await rejects(run, /the tests failed/)
    await rejects(echo(url, 'hello'), { code: 'ECONNREFUSED' })
  })

  it('starts nothing when the address of the service is given', async () => {
    process.env['ECHO_URL'] = 'tcp://elsewhere:1'
    const start = () => Promise.reject(new Error('started'))
    try {
      await withServices([{ ...echoService, start }], async (launched) => {
        deepEqual(launched, { environment: {}, versions: {}, missing: [] })
      })
    } finally {
      delete process.env['ECHO_URL']
    }
  })

  it('reports a service that is missing, or does not start, and continues', async () => {
    const absent: Service = { ...echoService, name: 'absent', urlVariable: 'A_URL', find: async () => false }
    const broken: Service = {
      ...echoService,
      name: 'broken',
      urlVariable: 'B_URL',
      async start() {
        await new ProcessGroup(process.execPath, [
          '-e',
          'console.log("no disk"); process.exit(3)',
        ]).untilOutput(/up/)
        throw new Error('unreachable')
      },
    }
    await withServices([absent, broken, echoService], async ({ environment, missing }) => {
      deepEqual(Object.keys(environment), ['ECHO_URL'])
      deepEqual(
        missing.map(({ service }) => service.name),
        ['absent', 'broken'],
      )
      match(missing[0]!.reason, /not found on this machine/)
      match(missing[1]!.reason, /ended with exit code 3[^]*no disk/)
    })
  })

  it(
    'installs a missing service, if it may',
    { skip: process.getuid?.() !== 0 && 'needs root' },
    async () => {
      let installed = false
      const service: Service = {
        ...echoService,
        find: async () => installed,
        install: async () => void (installed = true),
      }
      await withServices([service], async ({ missing }) => deepEqual(missing, []))
    },
  )

  it('requires services when REQUIRE_SERVICES says so, and does not guess', () => {
    equal(servicesAreRequired({}), false)
    equal(servicesAreRequired({ REQUIRE_SERVICES: 'all' }), true)
    throws(() => servicesAreRequired({ REQUIRE_SERVICES: 'yes' }), /REQUIRE_SERVICES is "yes"/)
  })
})

describe('a run with services', () => {
  let temporary: string
  beforeEach(() => {
    temporary = mkdtempSync(join(tmpdir(), 'sendoff-launcher-'))
  })
  afterEach(() => rmSync(temporary, { recursive: true }))

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`leaves nothing behind when it is interrupted by ${signal}`, async () => {
      const run = await startRun('wait')
      process.kill(run.group.pid!, signal)

      equal((await run.group.ended).code, signal === 'SIGTERM' ? 143 : 130)
      await nothingIsLeft(run)
    })
  }

  it('leaves nothing behind when its work throws', async () => {
    const run = await startRun('throw')
    equal((await run.group.ended).code, 1)
    await nothingIsLeft(run)
  })

  it('leaves nothing behind when an error is never caught', async () => {
    const run = await startRun('uncaught')
    equal((await run.group.ended).code, 1)
    await nothingIsLeft(run)
  })

  interface StartedRun {
    readonly group: ProcessGroup
    readonly url: string
  }

  async function startRun(end: string): Promise<StartedRun> {
    const script = join(import.meta.dirname, 'launcher-run.ts')
    const group = new ProcessGroup(process.execPath, [script, end], {
      env: { ...process.env, TMPDIR: temporary },
    })
    await group.untilOutput(/up .*\n/)
    return { group, url: /up (.*)\n/.exec(group.output)![1]! }
  }

  async function nothingIsLeft({ url }: StartedRun): Promise<void> {
    // A server that is just gone resets the connections that waited for it.
    const isReset = () => echo(url, 'hello').then(fail, ({ code }: { code: string }) => code === 'ECONNRESET')
    while (await isReset());
    await rejects(echo(url, 'hello'), { code: 'ECONNREFUSED' })
    deepEqual(readdirSync(temporary), [])
  }
})

describe('the services a test file needs', () => {
  it('are read from its name', () => {
    deepEqual(neededServices('test/relay.postgres.kafka.service.test.ts'), ['postgres', 'kafka'])
    deepEqual(neededServices('test/postgres-store.test.ts'), [])
  })

  it('have to be named, and known', () => {
    equal(namingMistake('test/a.postgres.service.test.ts', ['postgres']), undefined)
    match(namingMistake('test/postgres.service.test.ts', ['postgres'])!, /names no service/)
    match(namingMistake('test/a.postgress.service.test.ts', ['postgres'])!, /needs postgress, not listed/)
  })
})

async function echo(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.end(text)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString()
}
