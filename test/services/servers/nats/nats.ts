import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { natsServer } from './nats-server.ts'
import type { Service } from '../../service.ts'

/** NATS with JetStream, from Debian's packages. */
export const nats: Service = {
  name: 'nats',
  urlVariable: 'NATS_URL',

  async find() {
    return findProgram('nats-server') !== undefined
  },

  install: () => installDebianPackages('nats-server'),

  async start(folder) {
    const server = await natsServer(folder)
    // Killed, because its data is no longer needed.
    return { url: server.url, stop: () => server.kill() }
  },
}
