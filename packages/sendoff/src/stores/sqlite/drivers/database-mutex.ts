import { resolve } from 'node:path'
import { Mutex } from '../../mutex.ts'
import type { SqliteHandle } from './sqlite-client.ts'
import { prepareStatement } from './sqlite-client.ts'

const ofFiles = new Map<string, WeakRef<Mutex>>()
const ofHandles = new WeakMap<SqliteHandle, Mutex>()

const forgotten = new FinalizationRegistry<string>((file) => {
  if (ofFiles.get(file)?.deref() === undefined) ofFiles.delete(file)
})

/**
 * Returns the mutex of the database file behind `handle`. All stores of this process that use the file share
 * it.
 *
 * SQLite has one writer at a time, and its drivers wait for that writer by blocking the event loop. That
 * would also hold up the very transaction that they wait for. So writers of this process queue for the mutex
 * instead. A database in memory or in a temporary file belongs to its handle alone.
 */
export function databaseMutex(handle: SqliteHandle): Mutex {
  const file = databaseFile(handle)
  return file === undefined ? mutexOfHandle(handle) : mutexOfFile(file)
}

// SQLite reports the absolute path with links resolved, and '' if there is no file.
function databaseFile(handle: SqliteHandle): string | undefined {
  const databases = prepareStatement(handle, 'pragma database_list').all() as {
    name: string
    file: string | null
  }[]
  const file = databases.find((database) => database.name === 'main')?.file

  return file ? resolve(file) : undefined
}

function mutexOfFile(file: string): Mutex {
  const known = ofFiles.get(file)?.deref()
  if (known !== undefined) return known

  const mutex = new Mutex()
  ofFiles.set(file, new WeakRef(mutex))
  forgotten.register(mutex, file)
  return mutex
}

function mutexOfHandle(handle: SqliteHandle): Mutex {
  const known = ofHandles.get(handle)
  if (known !== undefined) return known

  const mutex = new Mutex()
  ofHandles.set(handle, mutex)
  return mutex
}
