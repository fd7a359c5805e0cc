import type { Finding, FindingSeverity } from 'sendoff/admin'
import { exitCodes } from '../exit-codes.ts'
import { wrapped } from '../terminal/fitted-text.ts'
import type { Style } from '../terminal/paint.ts'
import { printable } from '../terminal/printable.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { withSession } from './session.ts'

/** Options of `sendoff doctor`. */
export interface DoctorCommandOptions extends CommonOptions {
  readonly strict?: boolean
}

const styles: Readonly<Record<FindingSeverity, Style>> = { error: 'red', warning: 'yellow', info: 'cyan' }

/** Prints what is wrong with an outbox. Its exit code says whether something serious is. */
export const doctor: Command<DoctorCommandOptions> = async (call) => {
  const { options, terminal } = call
  return withSession(call, async ({ admin }) => {
    const findings = await admin.doctor()
    if (terminal.isJson) terminal.printJson({ findings })
    else printFindings(terminal, findings)
    const isSerious = ({ severity }: Finding) =>
      severity === 'error' || (options.strict === true && severity === 'warning')
    return findings.some(isSerious) ? exitCodes.negative : exitCodes.done
  })
}

/** Prints findings, the worst first. */
export function printFindings(terminal: Terminal, findings: readonly Finding[]): void {
  const { paint, width } = terminal
  if (findings.length === 0) terminal.print(paint('green', 'Nothing is wrong.'))
  for (const { severity, code, message, fix, sql } of findings) {
    terminal.print(`${paint(styles[severity], severity.toUpperCase().padEnd(7))}  ${paint('bold', code)}`)
    terminal.print(wrapped(printable(message), '  ', width))
    terminal.print(wrapped(printable(fix), '  ', width))
    if (sql !== undefined)
      for (const line of sql.split('\n')) terminal.print(`    ${paint('cyan', printable(line))}`)
    terminal.print('')
  }
}
