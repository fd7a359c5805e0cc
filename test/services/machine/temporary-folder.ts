import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  remove(): void
}

const removals = new Set<() => void>()
process.on('exit', () => removals.forEach((remove) => remove()))

/** A new folder in the system's place for such, gone at the latest when this process exits. */
export function temporaryFolder(name: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), `sendoff-${name}-`))
  // Some servers refuse to run as root, and their own user has to get in.
  chmodSync(path, 0o755)

  const remove = (): void => {
    removals.delete(remove)
    // A server that was just killed may still be writing.
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
  removals.add(remove)
  return { path, remove }
}
