/** A database or broker that tests need, and how to have a private one for the time of a run. */
export interface Service {
  /** As test files name it: `orders.postgres.service.test.ts` needs the service `postgres`. */
  readonly name: string

  /** Tests find the service's address here. When it is set already, nothing is started. */
  readonly urlVariable: string

  /** Nice to have: it may be missing even when services are required. */
  readonly extra?: true

  /** Whether what it takes to start the service is on this machine. */
  find(): Promise<boolean>

  /** Puts it there. Called only as root, one service at a time. */
  install?(): Promise<void>

  /**
   * Starts a private instance on a free port and resolves once it answers. It keeps its files
   * in `folder`, which exists, is empty, and is removed afterwards.
   *
   * Start processes as a `ProcessGroup`: then they end with the run even when `stop` fails, or
   * when `start` fails half-way.
   */
  start(folder: string): Promise<RunningService>
}

export interface RunningService {
  readonly url: string
  stop(): Promise<void>
}
