import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

// Where servers are kept; not everybody has these in the path.
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** The path of a program that can be run, searched for where a shell would and where servers are. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...systemFolders]
  return folders.map((folder) => join(folder, name)).find(isRunnable)
}

/** Whether there is a program at this path. */
export function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
