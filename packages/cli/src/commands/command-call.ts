import type { ExitCode } from '../exit-codes.ts'
import type { HiddenSecrets } from '../hidden-secrets.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** One call of a command: what it got, and where it shows its results. */
export interface CommandCall<Options> {
  readonly options: Options
  readonly arguments: readonly string[]
  readonly terminal: Terminal
  readonly secrets: HiddenSecrets
  readonly env: NodeJS.ProcessEnv
  readonly folder: string
  /** The signals that the process gets. */
  readonly signals: Pick<NodeJS.Process, 'on' | 'removeListener'>
}

/** A command. Returns its exit code. */
export type Command<Options> = (call: CommandCall<Options>) => Promise<ExitCode>
