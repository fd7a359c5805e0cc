/** The exit codes of every command. `docs/command-line.md` lists them. */
export const exitCodes = {
  done: 0,
  /** The command failed. */
  failed: 1,
  /** The command, its options or its configuration are wrong. Nothing was done. */
  usage: 2,
  /** The database cannot be reached, refuses the user, or has no driver here. */
  unreachable: 3,
  /** The command works, and its answer is no: a check fails, or there is no such event. */
  negative: 4,
  /** The operator declined, or there is no terminal to ask on. Nothing was done. */
  declined: 5,
  /** Ctrl-C ended the command. */
  interrupted: 130,
} as const

/** One of the exit codes. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
