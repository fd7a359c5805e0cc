import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, delimiter, join } from 'node:path'

const central = 'https://repo1.maven.org/maven2/'

/** Jars of Maven Central, by their path there, with the SHA-256 of each. They are kept for further runs. */
export class MavenJars {
  readonly #folder: string
  readonly #jars: Readonly<Record<string, string>>

  /** `name` is the folder of the jars in the cache. */
  constructor(name: string, jars: Readonly<Record<string, string>>) {
    const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
    this.#folder = join(cache, 'sendoff-test', name)
    this.#jars = jars
  }

  /** Whether all jars are on this machine. */
  get areHere(): boolean {
    return Object.keys(this.#jars).every((path) => existsSync(this.#fileOf(path)))
  }

  /** For Java. */
  get classPath(): string {
    return Object.keys(this.#jars)
      .map((path) => this.#fileOf(path))
      .join(delimiter)
  }

  /** Fetches the jars that are missing. */
  async fetch(): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    for (const [path, checksum] of Object.entries(this.#jars)) {
      if (!existsSync(this.#fileOf(path))) await this.#fetchJar(path, checksum)
    }
  }

  async #fetchJar(path: string, checksum: string): Promise<void> {
    const response = await fetch(central + path, { signal: AbortSignal.timeout(120_000) })
    if (!response.ok) throw new Error(`Fetching ${path} was answered with ${response.status}.`)

    const content = new Uint8Array(await response.arrayBuffer())
    const found = createHash('sha256').update(content).digest('hex')
    if (found !== checksum) throw new Error(`${path} has the SHA-256 ${found} instead of ${checksum}.`)

    // Another process may fetch it at the same time, and must never see a part of it.
    const partial = `${this.#fileOf(path)}.${process.pid}`
    await writeFile(partial, content)
    await rename(partial, this.#fileOf(path))
  }

  #fileOf(path: string): string {
    return join(this.#folder, basename(path))
  }
}
