import { deepEqual, equal, notDeepEqual, rejects } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { PrivateServer } from './private-server.ts'
import type { Service } from '../service.ts'
import { processesWithin, StartedService } from './started-service.ts'
import { type TemporaryFolder, temporaryFolder } from '../machine/temporary-folder.ts'

export interface BrokerService {
  readonly service: Service
  /**
   * Starts a durable server of its own, and returns what ends it. Left out if that is slow and other tests
   * cover it.
   */
  readonly startServer?: (
    folder: string,
  ) => Promise<{ readonly server: PrivateServer; remove(): Promise<void> }>
  /** Writes a value under a name, durably. Rejects soon if the server does not reply. */
  readonly write: (url: string, name: string) => Promise<void>
  /** Returns whether the value is there. */
  readonly has: (url: string, name: string) => Promise<boolean>
}

/** Declares tests that a broker can be started, brought down and up again, and leaves nothing behind. */
export async function describeBrokerService(broker: BrokerService): Promise<void> {
  const { service, write, has } = broker
  // If the address of a server is given, this machine may have none to start.
  const skip = !(await service.find()) && `${service.name} is not on this machine`

  describe(`the service ${service.name}`, () => {
    it('is up', async () => {
      const url = process.env[service.urlVariable]!
      const name = `up-${process.pid}`
      await write(url, name)
      // Kafka lists a new topic a moment after it has made it.
      while (!(await has(url, name))) await delay(20)
    })
  })

  const { startServer } = broker
  if (startServer !== undefined)
    describe(`a server of ${service.name}`, { skip }, () => {
      let folder: TemporaryFolder
      let running: Awaited<ReturnType<typeof startServer>>

      before(async () => {
        folder = temporaryFolder('server')
        running = await startServer(folder.path)
      })
      after(async () => {
        await running.remove()
        folder.remove()
      })

      it('comes back after a kill at the same address and with all written data', async () => {
        const { server } = running
        const { url } = server
        await write(url, 'kept')
        await server.kill()
        await rejects(write(url, 'too late'))
        await server.start()

        equal(server.url, url)
        equal(await has(url, 'kept'), true)
      })

      it('does nothing when it is down already, and leaves no process behind', async () => {
        await running.server.stop()
        await running.server.stop()
        await running.server.kill()
        await running.remove()
        deepEqual(processesWithin(folder.path), [])
      })
    })

  describe(`a process with ${service.name}`, { skip }, () => {
    let started: StartedService | undefined
    afterEach(() => started?.remove())

    it('leaves nothing behind when it is ended by a signal', async () => {
      started = await StartedService.start(service, 'launched')
      notDeepEqual(started.processes(), [])

      equal(await started.end('SIGTERM'), 143)
      deepEqual(await started.remains(), [])
    })
  })
}
