import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  remove(): void
}

/** A new folder in the system's place for such, gone at the latest when this process exits. */
export function temporaryFolder(name: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), `sendoff-${name}-`))
  // Some servers refuse to run as root, and their own user has to get in.
  chmodSync(path, 0o755)

  const remove = (): void => {
    process.off('exit', remove)
    // A server that was just killed may still be writing.
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
  process.on('exit', remove)
  return { path, remove }
}
