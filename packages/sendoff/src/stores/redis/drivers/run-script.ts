import type { Script } from '../scripts/script.ts'

/** Runs a script on the keyspace of the store. */
export type RunScript = (script: Script, values: readonly string[]) => Promise<unknown>
