import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { classPath } from './requirements.ts'

const here = import.meta.dirname

/** Options of a `RelayProcess`. */
export interface RelayProcessOptions {
  /** The database whose log it reads. */
  readonly databaseUrl: string
  /** The address that it posts events to. */
  readonly consumerUrl: string
  /** The file in which it keeps its place. */
  readonly offsetsFile: string
  /** Settings that go before those in `outbox.properties`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The program `OutboxRelay` with Debezium's engine, started again whenever it ends, until `stop`. */
export class RelayProcess {
  /** The file in which it keeps its place. It exists once the relay has stored one. */
  readonly offsetsFile: string
  readonly #args: readonly string[]
  #child: ChildProcess | undefined
  #isStopped = false
  /** How many times it was started. */
  starts = 0

  constructor({ databaseUrl, consumerUrl, offsetsFile, settings = {} }: RelayProcessOptions) {
    this.offsetsFile = offsetsFile
    const { hostname, port, username, password, pathname } = new URL(databaseUrl)
    const all = {
      'database.hostname': hostname,
      'database.port': port || '5432',
      'database.user': decodeURIComponent(username),
      'database.password': decodeURIComponent(password),
      'database.dbname': pathname.slice(1),
      'offset.storage.file.filename': offsetsFile,
      ...settings,
    }
    this.#args = [
      '-Xmx256m',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
      ...Object.entries(all).map(([name, value]) => `-Ddebezium.${name}=${value}`),
      '-cp',
      classPath(),
      'OutboxRelay',
      join(here, 'outbox.properties'),
      consumerUrl,
    ]
    process.once('exit', this.#killChild)
    this.#start()
  }

  /** Kills it, as when its machine goes down. It is started again. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.kill()
    process.off('exit', this.#killChild)
  }

  #start(): void {
    if (this.#isStopped) return
    this.starts += 1
    const child = spawn('java', this.#args, { stdio: ['ignore', 'ignore', 'inherit'] })
    this.#child = child
    child.once('exit', () => {
      this.#child = undefined
      // The server may be away: a program that ends at once must not be started in a busy loop.
      setTimeout(() => this.#start(), 500).unref()
    })
  }

  readonly #killChild = (): void => void this.#child?.kill('SIGKILL')
}
