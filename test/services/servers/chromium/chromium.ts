import { join } from 'node:path'
import { installDebianPackages } from '../../machine/debian-packages.ts'
import { findProgram } from '../../machine/find-program.ts'
import { stablePort } from '../../machine/stable-port.ts'
import type { Service } from '../../service.ts'
import { PrivateServer } from '../private-server.ts'

const quiet = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

/** A browser without a window, from Debian's package. Tests connect to it, each with a context of its own. */
export const chromium: Service = {
  name: 'chromium',
  urlVariable: 'CHROMIUM_URL',

  async find() {
    return findProgram('chromium') !== undefined
  },

  install: () => installDebianPackages('chromium'),

  async start(folder) {
    const port = await stablePort()
    const server = new PrivateServer({
      port,
      url: `http://127.0.0.1:${port}`,
      command: findProgram('chromium')!,
      args: [
        ...quiet,
        `--user-data-dir=${join(folder, 'profile')}`,
        `--remote-debugging-port=${port}`,
        'about:blank',
      ],
      readyOutput: /DevTools listening on/,
      cwd: folder,
    })
    await server.start()
    return { url: server.url, stop: () => server.kill() }
  },
}
