import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  remove(): void
}

const removals = new Set<() => void>()
process.on('exit', () => removals.forEach((remove) => remove()))

/**
 * Creates a folder among the system's temporary files. It is removed when this process exits at the latest.
 */
export function temporaryFolder(name: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), `sendoff-${name}-`))
  // Some servers refuse to run as root, and their own user needs access.
  chmodSync(path, 0o755)

  const remove = (): void => {
    removals.delete(remove)
    // A server that was just killed may still be writing.
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
  removals.add(remove)
  return { path, remove }
}
