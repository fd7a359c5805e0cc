import { chownSync, readFileSync } from 'node:fs'

/** A user as a `ProcessGroup` takes it. Empty for the one who runs this process. */
export interface SystemUser {
  readonly uid?: number
  readonly gid?: number
}

/**
 * Whom to start a server as that refuses to run as root: the first of `names` that exists on this
 * machine, else `nobody`. Whoever is not root can only start it as themselves.
 */
export function unprivilegedUser(...names: readonly string[]): SystemUser {
  if (process.getuid?.() !== 0) return {}

  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of [...names, 'nobody']) {
    const entry = entries.find(([user]) => user === name)
    if (entry) return { uid: Number(entry[2]), gid: Number(entry[3]) }
  }
  throw new Error(`This machine has no user ${names.join(', ')} or nobody. Run as somebody else than root.`)
}

/** Makes files or folders that we made the user's own. */
export function giveTo({ uid, gid }: SystemUser, ...paths: readonly string[]): void {
  if (uid === undefined || gid === undefined) return
  for (const path of paths) chownSync(path, uid, gid)
}
