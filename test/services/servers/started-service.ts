import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ProcessGroup } from '../processes/process-group.ts'
import { runCommand } from '../processes/run-command.ts'
import type { Service } from '../service.ts'
import { type TemporaryFolder, temporaryFolder } from '../machine/temporary-folder.ts'
import { giveTo, type SystemUser } from '../machine/unprivileged-user.ts'

const script = join(import.meta.dirname, 'service-run.ts')

/** A process that runs a service and keeps all of its temporary files in a folder of its own. */
export class StartedService {
  readonly url: string
  readonly #group: ProcessGroup
  readonly #folder: TemporaryFolder

  /**
   * Starts the service: `launched` as the test runner does, or `alone` as a test with a private server does.
   */
  static async start(
    service: Service,
    how: 'launched' | 'alone',
    user: SystemUser = {},
  ): Promise<StartedService> {
    const folder = temporaryFolder('started')
    giveTo(user, folder.path)

    const group = new ProcessGroup(process.execPath, [script, service.name, how], {
      ...user,
      env: { ...process.env, TMPDIR: folder.path, [service.urlVariable]: undefined },
    })
    await group.untilOutput(/^up .*\n/m)
    return new StartedService(/^up (.*)\n/m.exec(group.output)![1]!, group, folder)
  }

  private constructor(url: string, group: ProcessGroup, folder: TemporaryFolder) {
    this.url = url
    this.#group = group
    this.#folder = folder
  }

  /** Returns the running processes of the service, by their ids. */
  processes(): readonly number[] {
    return processesWithin(this.#folder.path)
  }

  /** Ends the process with a signal. Resolves to its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    process.kill(this.#group.pid!, signal)
    return (await this.#group.ended).code
  }

  /** Returns what is left of the service: names of files, ids of processes. */
  async remains(): Promise<readonly unknown[]> {
    await untilGone(this.processes(), 10_000)
    return [...readdirSync(this.#folder.path), ...this.processes()]
  }

  /** Ends and removes whatever is left. */
  async remove(): Promise<void> {
    await this.#group.stop('SIGKILL')
    for (const pid of this.processes()) process.kill(pid, 'SIGKILL')
    this.#folder.remove()
  }
}

/** Returns whether a user can run the files of this project. */
export function canRunHere(user: SystemUser): Promise<boolean> {
  return runCommand(process.execPath, ['--check', script], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

/** Returns the processes that work in a folder, or in one that was within it. */
export function processesWithin(folder: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && workingFolder(name).startsWith(`${folder}/`))
    .map(Number)
}

function workingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // It has ended, or belongs to another user.
    return ''
  }
}

// The system does not report the end of another process's child, so this polls.
async function untilGone(pids: readonly number[], timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (pids.some((pid) => workingFolder(String(pid)) !== '') && performance.now() < deadline) {
    await setTimeout(10)
  }
}
