import { createInterface } from 'node:readline/promises'
import { type Paint, paintFor } from './paint.ts'

/** The streams and the environment that a command works with. */
export interface Surroundings {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: NodeJS.ProcessEnv
}

/** How a command shows its results. */
export interface TerminalOptions {
  readonly json: boolean
  readonly color: boolean
}

/**
 * Shows results and asks questions. Results go to standard output, everything else to standard error. If the
 * reader of the results goes away, as `head` does, the terminal goes silent and the command ends well.
 */
export class Terminal {
  readonly isJson: boolean
  readonly paint: Paint
  readonly paintNotes: Paint
  readonly #streams: Surroundings
  readonly #closed = new AbortController()

  constructor(streams: Surroundings, { json, color }: TerminalOptions) {
    this.#streams = streams
    this.isJson = json
    this.paint = paintFor(streams.stdout, streams.env, color)
    this.paintNotes = paintFor(streams.stderr, streams.env, color)
    streams.stdout.on('error', () => this.#closed.abort())
  }

  /** Aborts when the reader of the results is gone. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /** The width for results; undefined if they go to a file or another program. */
  get width(): number | undefined {
    const { isTTY, columns } = this.#streams.stdout
    return isTTY ? columns : undefined
  }

  /** The height of the screen; undefined if there is none. */
  get height(): number | undefined {
    const { isTTY, rows } = this.#streams.stdout
    return isTTY ? rows : undefined
  }

  /** Whether there is a person to ask. */
  get canAsk(): boolean {
    return this.#streams.stdin.isTTY === true && this.#streams.stderr.isTTY === true && !this.isJson
  }

  /** Whether lines of notes can be drawn anew. */
  get canRedraw(): boolean {
    return this.#streams.stderr.isTTY === true && !this.isJson
  }

  /** Prints a result. */
  print(text: string): void {
    this.write(`${text}\n`)
  }

  /** Prints a result in parts. */
  write(text: string): void {
    if (!this.closed.aborted) this.#streams.stdout.write(text)
  }

  /** Prints a result for machines: one document, on one line if `isLine`. */
  printJson(value: unknown, isLine = false): void {
    this.print(JSON.stringify(value, undefined, isLine ? undefined : 2))
  }

  /** Prints what is not a result. */
  note(text: string): void {
    this.#streams.stderr.write(`${text}\n`)
  }

  /** Replaces the line of notes under way. */
  redraw(line: string): void {
    this.#streams.stderr.write(`\r\u001b[K${line}`)
  }

  /** Asks a question, and returns the reply. Empty if the input ends. */
  async ask(question: string): Promise<string> {
    const { stdin, stderr } = this.#streams
    const lines = createInterface({ input: stdin, output: stderr })
    const ended = new AbortController()
    lines.once('close', () => ended.abort())
    lines.once('SIGINT', () => lines.close())
    try {
      return await lines.question(question, { signal: ended.signal })
    } catch {
      return ''
    } finally {
      lines.close()
    }
  }
}
