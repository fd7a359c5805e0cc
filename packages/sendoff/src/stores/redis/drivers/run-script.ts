import type { Script } from '../scripts/script.ts'

/** Runs a script on the keys of the store. */
export type RunScript = (script: Script, values: readonly string[]) => Promise<unknown>
