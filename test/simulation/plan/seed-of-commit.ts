import { execFileSync } from 'node:child_process'

/** Returns a seed made from the hash of the current commit: each commit searches other histories. */
export function seedOfCommit(): number {
  try {
    const hash = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return parseInt(hash.slice(0, 7), 16)
  } catch {
    // A copy of the files without their history.
    return 5_000_000
  }
}
