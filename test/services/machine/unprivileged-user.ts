import { chownSync, readFileSync } from 'node:fs'

/** A user as a `ProcessGroup` takes it. Empty for the user of this process. */
export interface SystemUser {
  readonly uid?: number
  readonly gid?: number
}

/**
 * Returns the user for a server that refuses to run as root: the first of `names` that exists on this
 * machine, else the user without rights that every machine has. A process that is not root can only start it as its own user.
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
  throw new Error(
    `This machine has no user ${names.join(', ')} or nobody. Run the tests as another user than root.`,
  )
}

/** Makes the user the owner of files or folders that this process created. */
export function giveTo({ uid, gid }: SystemUser, ...paths: readonly string[]): void {
  if (uid === undefined || gid === undefined) return
  for (const path of paths) chownSync(path, uid, gid)
}
