import { join } from 'node:path'
import { freePort } from '../machine/free-port.ts'
import { ProcessGroup } from '../processes/process-group.ts'
import type { Service } from '../service.ts'

const server = `
  const [port, file] = process.argv.slice(1)
  require('node:fs').writeFileSync(file, 'as databases do')
  require('node:net').createServer((socket) => socket.pipe(socket)).listen(port, '127.0.0.1', () => {
    console.log('listening')
  })`

/** The smallest real server, for tests of the launcher. */
export const echoService: Service = {
  name: 'echo',
  urlVariable: 'ECHO_URL',

  async find() {
    return true
  },

  async start(folder) {
    const port = await freePort()
    const group = new ProcessGroup(process.execPath, ['-e', server, String(port), join(folder, 'data')])
    await group.untilOutput(/listening/)
    return { url: `tcp://127.0.0.1:${port}`, stop: () => group.stop() }
  },
}
