import { mkdir } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { RunningService, Service } from '../service.ts'
import { type TemporaryFolder, temporaryFolder } from '../machine/temporary-folder.ts'

/** The services that a run got, and those that are missing. */
export interface LaunchedServices {
  /** Their addresses, to be added to the environment of the tests. */
  readonly environment: Readonly<Record<string, string>>
  /** By the name of the service, for those that know their version. */
  readonly versions: Readonly<Record<string, string>>
  readonly missing: readonly MissingService[]
}

export interface MissingService {
  readonly service: Service
  readonly reason: string
}

/**
 * Runs `work` with the given services up, and leaves nothing of them behind, even if `work` fails or the run
 * is interrupted. On SIGINT or SIGTERM `interrupted` is aborted, the services are stopped and the process
 * exits. A second signal does not wait for them.
 */
export async function withServices<Result>(
  services: readonly Service[],
  work: (launched: LaunchedServices, interrupted: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const launcher = new Launcher()
  const unhandle = handleSignals(launcher)
  try {
    const launched = await launcher.launch(services)
    return await work(launched, launcher.interrupted)
  } finally {
    await launcher.stop()
    unhandle()
  }
}

/**
 * Returns whether a missing service is a failure. `REQUIRE_SERVICES=all` says so, for all but the extra ones.
 */
export function servicesAreRequired(environment: NodeJS.ProcessEnv): boolean {
  const required = environment['REQUIRE_SERVICES'] ?? ''
  if (required === 'all') return true
  if (required === '') return false
  throw new Error(`REQUIRE_SERVICES is "${required}". Set it to "all", or leave it out.`)
}

/** Starts and stops services. Once it stops, it starts no further one. */
class Launcher {
  readonly #interruption = new AbortController()
  readonly #running: RunningService[] = []
  #folder: TemporaryFolder | undefined
  #stopped: Promise<void> | undefined

  get interrupted(): AbortSignal {
    return this.#interruption.signal
  }

  async launch(services: readonly Service[]): Promise<LaunchedServices> {
    const environment: Record<string, string> = {}
    const versions: Record<string, string> = {}
    const missing: MissingService[] = []
    const wanted = services.filter((service) => !process.env[service.urlVariable])
    if (wanted.length === 0) return { environment, versions, missing }

    // One after another, because package managers lock each other out.
    const startable: Service[] = []
    for (const service of wanted) {
      const reason = await reasonUnavailable(service)
      if (reason === undefined) startable.push(service)
      else missing.push({ service, reason })
    }

    const folder = temporaryFolder('services')
    this.#folder = folder
    await Promise.all(
      startable.map(async (service) => {
        try {
          const { url, version } = await this.#start(service, folder.path)
          environment[service.urlVariable] = url
          if (version !== undefined) versions[service.name] = version
        } catch (error) {
          missing.push({ service, reason: `it did not start: ${messageOf(error)}` })
        }
      }),
    )
    return { environment, versions, missing }
  }

  /** Stops all services and removes the folder. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  interrupt(): void {
    this.#interruption.abort()
  }

  async #start(service: Service, folder: string): Promise<RunningService> {
    const ownFolder = join(folder, service.name)
    await mkdir(ownFolder)
    const running = await service.start(ownFolder)
    this.#running.push(running)
    // It came up while the others were being stopped, and would be forgotten.
    if (this.#stopped) await running.stop()
    return running
  }

  async #stop(): Promise<void> {
    await Promise.allSettled(this.#running.map((service) => service.stop()))
    this.#folder?.remove()
  }
}

function handleSignals(launcher: Launcher): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    const exit = (): never => process.exit(128 + constants.signals[signal])
    if (launcher.interrupted.aborted) exit()

    launcher.interrupt()
    void launcher.stop().finally(exit)
  }

  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  const unwatch = watchParent(() => onSignal('SIGTERM'))
  return () => {
    unwatch()
    for (const signal of signals) process.off(signal, onSignal)
  }
}

// npm hands a signal to the shell that runs its scripts, and the shell ends without passing it on.
function watchParent(onOrphaned: () => void): () => void {
  if (process.env['npm_lifecycle_event'] === undefined) return () => {}

  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onOrphaned()
  }, 500).unref()
  return () => clearInterval(timer)
}

async function reasonUnavailable(service: Service): Promise<string | undefined> {
  try {
    if (await service.find()) return undefined
    if (!service.install) return 'it was not found on this machine'
    if (process.getuid?.() !== 0) return 'it was not found on this machine, and only root can install it'

    await service.install()
    return (await service.find()) ? undefined : 'it was installed, but still not found'
  } catch (error) {
    return `it could not be installed: ${messageOf(error)}`
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
