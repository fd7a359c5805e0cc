import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Bounds, type FailedAttempt, OutboxError, type RowId, type StoredRow } from 'sendoff/store'

/** A row that can be changed. */
export type FileRow = { -readonly [Field in keyof StoredRow]: StoredRow[Field] }

/** The first use of an idempotency key. */
export type UsedKey = { readonly eventId: string; readonly usedAt: number }

/** A lock, and the places between which its owner holds rows without leases. */
export type Lock = { readonly token: string; until: number; bounds: Bounds | null }

/** Everything that the file holds. The keys of `rows` and `failures` come from `keyOf`. */
export interface State {
  lastSeq: number
  lastMode: string | null
  readonly rows: Map<string, FileRow>
  readonly failures: Map<string, FailedAttempt[]>
  readonly usedKeys: Map<string, UsedKey>
  readonly locks: Map<string, Lock>
  readonly nodes: Map<string, { readonly mode: string | null; readonly until: number }>
}

/** Reads or changes the state. `now` is the time by the clock of the store. */
export type Step<Result> = (state: State, now: number) => Result

/** The state in memory and in its file. */
export type StateFile = ReturnType<typeof stateFile>

/** The state in the file at `path`. The first call reads the file. Calls run one after the other. */
export function stateFile(path: string, now: () => number) {
  const inTurn = oneAtATime()
  let state: State | undefined
  let savedText: string | undefined
  let isClosed = false

  async function load(): Promise<State | undefined> {
    if (isClosed) throw new OutboxError('OUTBOX_CLOSED', 'The store is closed. Make a new one.')
    savedText ??= await readIfThere(path)
    if (savedText !== undefined) state ??= JSON.parse(savedText, fromJson)
    return state
  }

  async function loaded(): Promise<State> {
    const found = await load()
    if (!found) throw new OutboxError('OUTBOX_SCHEMA_NOT_READY', `There is no file ${path}. Call migrate().`)
    return found
  }

  async function save(changed: State): Promise<void> {
    const text = JSON.stringify(changed, toJson)
    if (text !== savedText) await replaceFile(path, text)
    state = changed
    savedText = text
  }

  return {
    /** Returns what `look` returns, which has to be a copy. */
    read: <Result>(look: Step<Result>) => inTurn(async () => look(await loaded(), now())),

    /** Resolves when the file holds what `work` changed. If writing fails, nothing changes. */
    change: <Result>(work: Step<Result>) =>
      inTurn(async () => {
        const draft = structuredClone(await loaded())
        const result = work(draft, now())
        await save(draft)
        return result
      }),

    /** Creates the file if there is none. */
    create: () => inTurn(async () => save((await load()) ?? emptyState())),

    close: () => inTurn(async () => void (isClosed = true)),
  }
}

/** The key of a row in the maps of the state. */
export function keyOf({ eventId, destination }: RowId): string {
  return JSON.stringify([eventId, destination])
}

/** Returns a function that runs tasks one after the other, in the order of its calls. */
export function oneAtATime(): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()

  return (task) => {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}

function emptyState(): State {
  const maps = {
    rows: new Map(),
    failures: new Map(),
    usedKeys: new Map(),
    locks: new Map(),
    nodes: new Map(),
  }
  return { lastSeq: 0, lastMode: null, ...maps }
}

function toJson(_name: string, value: unknown): unknown {
  if (value instanceof Map) return { map: [...value] }
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}

function fromJson(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('map' in value && Array.isArray(value.map)) return new Map(value.map)
  return 'base64' in value ? new Uint8Array(Buffer.from(String(value.base64), 'base64')) : value
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
}

/**
 * Replaces the text of a file. After a crash at any moment, the file has either the old text or the new one.
 */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.tmp`, text, { flush: true })
  await rename(`${path}.tmp`, path)

  const folder = await open(dirname(path))
  await folder.sync().finally(() => folder.close())
}
