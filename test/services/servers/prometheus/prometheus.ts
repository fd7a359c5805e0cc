import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import type { Service } from '../../service.ts'
import { prometheusServer } from './prometheus-server.ts'

/** Prometheus and promtool, from Debian's package. Tests that scrape start servers of their own. */
export const prometheus: Service = {
  name: 'prometheus',
  urlVariable: 'PROMETHEUS_URL',

  async find() {
    return findProgram('prometheus') !== undefined && findProgram('promtool') !== undefined
  },

  install: () => installDebianPackages('prometheus'),

  async start(folder) {
    const server = await prometheusServer(folder)
    // Killed, because its data is no longer needed.
    return { url: server.url, stop: () => server.kill() }
  },
}
