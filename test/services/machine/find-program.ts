import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

// Folders with servers, which are not in every user's path.
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** Returns the path of a runnable program, from the folders of the shell and those with servers. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...systemFolders]
  return folders.map((folder) => join(folder, name)).find(isRunnable)
}

/** Returns whether there is a program at this path. */
export function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
