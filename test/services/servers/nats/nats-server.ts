import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../../machine/find-program.ts'
import { PrivateServer } from '../private-server.ts'
import { stablePort } from '../../machine/stable-port.ts'

/** Starts a private NATS with JetStream, with its data in `folder`. */
export async function natsServer(folder: string): Promise<PrivateServer> {
  const command = findProgram('nats-server')
  if (command === undefined) throw new Error("There is no NATS here. Install Debian's nats-server.")

  const port = await stablePort()
  const configuration = join(folder, 'nats.conf')
  writeFileSync(
    configuration,
    `listen: "127.0.0.1:${port}"
max_payload: 512KB
jetstream { store_dir: "${folder}", max_memory_store: 256MB, max_file_store: 4GB }
`,
  )
  const server = new PrivateServer({
    port,
    url: `nats://127.0.0.1:${port}`,
    command,
    args: ['--config', configuration],
    readyOutput: /Server is ready/,
    cwd: folder,
  })
  await server.start()
  return server
}
