import { installDebianPackages } from '../../machine/debian-packages.ts'
import { hasRabbitmq, rabbitmqServer } from './rabbitmq-server.ts'
import type { Service } from '../../service.ts'

/** RabbitMQ from Debian's packages. */
export const rabbitmq: Service = {
  name: 'rabbitmq',
  urlVariable: 'RABBITMQ_URL',

  async find() {
    return hasRabbitmq()
  },

  install: () => installDebianPackages('rabbitmq-server'),

  async start(folder) {
    const running = await rabbitmqServer(folder)
    // Removed, because its data is no longer needed.
    return { url: running.server.url, stop: () => running.remove() }
  },
}
