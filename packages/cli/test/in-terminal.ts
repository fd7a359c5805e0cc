import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The end of a command in a terminal. */
export interface TerminalResult {
  readonly code: number | null
  /** Everything that the terminal got, with its control characters. */
  readonly output: string
}

/**
 * Runs a command in a terminal of its own, by the program `script`. Types each text when the output since the
 * last one matches its pattern.
 */
export async function inTerminal(
  command: readonly string[],
  typed: readonly (readonly [after: RegExp, text: string])[],
  { columns = 120, rows = 40 } = {},
): Promise<TerminalResult> {
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const sized = `stty cols ${columns} rows ${rows}; exec ${quoted}`
  const child = spawn('script', ['-qfec', sized, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm-256color', NODE_TEST_CONTEXT: undefined },
  })
  const waiting = [...typed]
  let output = ''
  let from = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    for (;;) {
      const next = waiting[0]
      if (next === undefined || !next[0].test(output.slice(from))) return
      waiting.shift()
      from = output.length
      child.stdin.write(next[1])
    }
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
