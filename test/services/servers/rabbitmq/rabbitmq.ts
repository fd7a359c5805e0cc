import { installDebianPackages } from '../../machine/debian-packages.ts'
import { hasRabbitmq, rabbitmqServer } from './rabbitmq-server.ts'
import type { Service } from '../../service.ts'

/** RabbitMQ as Debian has it. */
export const rabbitmq: Service = {
  name: 'rabbitmq',
  urlVariable: 'RABBITMQ_URL',

  async find() {
    return hasRabbitmq()
  },

  install: () => installDebianPackages('rabbitmq-server'),

  async start(folder) {
    const running = await rabbitmqServer(folder)
    // Nobody needs its data any more.
    return { url: running.server.url, stop: () => running.remove() }
  },
}
