import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findProgram, isRunnable } from '../../machine/find-program.ts'
import { PrivateServer } from '../private-server.ts'
import { ProcessGroup } from '../../processes/process-group.ts'
import { runCommand } from '../../processes/run-command.ts'
import { stablePort } from '../../machine/stable-port.ts'
import { giveTo, type SystemUser, unprivilegedUser } from '../../machine/unprivileged-user.ts'

// Debian's own command insists on root and on the machine's one instance.
const script = '/usr/lib/rabbitmq/bin/rabbitmq-server'
const controlScript = '/usr/lib/rabbitmq/bin/rabbitmqctl'

/** Returns whether this machine has what a server needs. */
export function hasRabbitmq(): boolean {
  return isRunnable(script) && findProgram('epmd') !== undefined
}

export interface RabbitmqServer {
  readonly server: PrivateServer
  /** Makes it save the list of queues, which it otherwise does only every now and then. */
  writeDown(): Promise<void>
  /** Makes it act as if its memory were full: it then stops reading from publishers. */
  raiseMemoryAlarm(): Promise<void>
  /** Ends it and the port mapper beside it. */
  remove(): Promise<void>
}

/** Starts a private RabbitMQ, with its data in `folder`. */
export async function rabbitmqServer(folder: string): Promise<RabbitmqServer> {
  if (!hasRabbitmq()) throw new Error("There is no RabbitMQ here. Install Debian's rabbitmq-server.")

  const user = unprivilegedUser('rabbitmq')
  const port = await stablePort()
  const namesPort = await stablePort()
  const environment = await writeConfiguration(folder, user, port, namesPort)
  const names = await portMapper(namesPort, folder, user)
  const server = new PrivateServer({
    port,
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    command: script,
    args: [],
    readyOutput: /completed with \d+ plugins/,
    ...user,
    cwd: folder,
    env: environment,
  })
  try {
    await server.start()
  } catch (error) {
    await names.stop('SIGKILL')
    throw error
  }
  const control = async (...args: string[]) => {
    await runCommand(controlScript, args, { ...user, cwd: folder, env: environment })
  }
  return {
    server,
    writeDown: () => control('eval', 'mnesia:sync_log().'),
    raiseMemoryAlarm: () => control('set_vm_memory_high_watermark', '0.000001'),
    async remove() {
      await server.kill()
      await names.stop('SIGKILL')
    },
  }
}

async function writeConfiguration(
  folder: string,
  user: SystemUser,
  port: number,
  namesPort: number,
): Promise<NodeJS.ProcessEnv> {
  const configuration = join(folder, 'rabbitmq.conf')
  const plugins = join(folder, 'enabled_plugins')
  writeFileSync(
    configuration,
    `listeners.tcp.1 = 127.0.0.1:${port}
max_message_size = 524288
vm_memory_high_watermark.absolute = 512MB
disk_free_limit.absolute = 50MB
log.console = true
log.file = false
`,
  )
  writeFileSync(plugins, '[].\n')
  mkdirSync(join(folder, 'mnesia'))
  giveTo(user, folder, configuration, plugins, join(folder, 'mnesia'))
  return {
    PATH: process.env['PATH'],
    HOME: folder,
    LANG: 'C.UTF-8',
    ERL_EPMD_PORT: String(namesPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: 'sendoff@localhost',
    RABBITMQ_DIST_PORT: String(await stablePort()),
    RABBITMQ_CONFIG_FILE: configuration,
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
    RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
    RABBITMQ_LOG_BASE: folder,
    RABBITMQ_PID_FILE: join(folder, 'rabbitmq.pid'),
    // Few threads, and none of them waiting in a busy loop.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none',
  }
}

/**
 * Starts a private port mapper. Erlang would start its own beside the server, and that would outlive it and
 * serve all of the machine.
 */
async function portMapper(port: number, folder: string, user: SystemUser): Promise<ProcessGroup> {
  const group = new ProcessGroup(findProgram('epmd')!, ['-port', String(port), '-address', '127.0.0.1'], {
    ...user,
    cwd: folder,
  })
  // It prints nothing when it is up.
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (tries === 500) throw new Error(`epmd did not come up. Its output:\n${group.output}`)
    await setTimeout(20)
  }
  return group
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
