/** A database or broker that tests need, and how to start a private one for a run. */
export interface Service {
  /** Its name in test files: `orders.postgres.service.test.ts` needs the service `postgres`. */
  readonly name: string

  /** Variable with the service's address. If it is set already, nothing is started. */
  readonly urlVariable: string

  /** Optional: it may be missing even if services are required. */
  readonly extra?: true

  /** Returns whether this machine has what the service needs. */
  find(): Promise<boolean>

  /** Installs the service. Called only as root, one service at a time. */
  install?(): Promise<void>

  /**
   * Starts a private instance on a free port and resolves once it replies. It keeps its files in `folder`,
   * which exists, is empty, and is removed afterwards.
   *
   * Start processes as a `ProcessGroup`: then they end with the run even if `stop` fails, or if `start` fails
   * half-way.
   */
  start(folder: string): Promise<RunningService>
}

export interface RunningService {
  readonly url: string
  /** The version, if it differs from machine to machine. The runner prints it. */
  readonly version?: string
  stop(): Promise<void>
}
