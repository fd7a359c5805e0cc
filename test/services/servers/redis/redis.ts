import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { redisServer } from './redis-server.ts'
import type { Service } from '../../service.ts'

/** Redis as its users run it for queues that may be lost: without persistence, its fastest. */
export const redis: Service = {
  name: 'redis',
  urlVariable: 'REDIS_URL',

  async find() {
    return findProgram('redis-server') !== undefined
  },

  install: () => installDebianPackages('redis-server'),

  async start(folder) {
    const server = await redisServer({ folder, persistence: 'none' })
    // Killed, because its data is no longer needed.
    return { url: server.url, stop: () => server.kill() }
  },
}
