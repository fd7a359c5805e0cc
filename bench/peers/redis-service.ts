import { installDebianPackages } from '../../test/services/debian-packages.ts'
import { findProgram } from '../../test/services/find-program.ts'
import { freePort } from '../../test/services/free-port.ts'
import { ProcessGroup } from '../../test/services/process-group.ts'
import type { Service } from '../../test/services/service.ts'

/** Redis as its users run it for queues that may be lost: without persistence, its fastest. */
export const redis: Service = {
  name: 'redis',
  urlVariable: 'REDIS_URL',

  async find() {
    return findProgram('redis-server') !== undefined
  },

  install: () => installDebianPackages('redis-server'),

  async start(folder) {
    const port = await freePort()
    const group = new ProcessGroup(
      findProgram('redis-server')!,
      ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'],
      { cwd: folder },
    )
    await group.untilOutput(/Ready to accept connections/)
    return { url: `redis://127.0.0.1:${port}`, stop: () => group.stop() }
  },
}
