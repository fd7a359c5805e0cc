import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServedDashboard } from '@sendoff/dashboard'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/printable.ts'
import type { Command, CommandCall } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { type Session, withSession } from './session.ts'
import { stopSignal } from './stop-signal.ts'
import { wholeNumber } from './whole-number.ts'

/** Options of `sendoff dashboard`. */
export interface DashboardOptions extends CommonOptions {
  readonly host?: string
  readonly port?: string
  readonly token?: string
  readonly readOnly?: boolean
  readonly traceUrl?: string
  readonly open?: boolean
}

/** Serves the dashboard of an outbox, until a signal ends it. */
export const dashboard: Command<DashboardOptions> = async (call) => {
  const { terminal, options, secrets } = call
  const port = wholeNumber('--port', options.port ?? '9465', 0, 65_535)
  const token = options.token ?? call.env['SENDOFF_TOKEN']
  if (token !== undefined) secrets.add(token)
  return withSession(
    call,
    async (session) => {
      const stop = stopSignal(call.signals)
      try {
        const served = await serve(call, session, port, token === '' ? undefined : token)
        try {
          const { url } = served
          if (terminal.isJson) terminal.printJson({ url }, true)
          else terminal.print(`The dashboard is at ${url} until Ctrl-C.`)
          if (options.open) openInBrowser(url, (reason) => terminal.note(reason))
          if (!stop.signal.aborted) await once(stop.signal, 'abort')
        } finally {
          await served.close()
        }
      } finally {
        stop.release()
      }
      return exitCodes.done
    },
    { connections: 6 },
  )
}

async function serve(
  call: CommandCall<DashboardOptions>,
  { admin, actor, table = '' }: Session,
  port: number,
  token: string | undefined,
): Promise<ServedDashboard> {
  const { host = '127.0.0.1', readOnly = false, traceUrl } = call.options
  const { serveDashboard } = await import('@sendoff/dashboard')
  try {
    return await serveDashboard({
      admins: { [shownName(table)]: admin },
      host,
      port,
      actor,
      readOnly,
      onError: errorNotes(call),
      ...(token !== undefined && { token }),
      ...(traceUrl !== undefined && { traceUrl }),
    })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    // Other errors are about options, and say what to do.
    if (syscall === undefined) throw error
    throw new CommandError(`Cannot serve the dashboard on ${host}:${port} (${code}). Choose another --port.`)
  }
}

/** The name of the outbox in addresses of the page, which have no place for every name of a table. */
function shownName(table: string): string {
  const name = table
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 64)
  // The dashboard needs the last two paths itself.
  return ['', 'api', 'assets'].includes(name) ? `outbox${name && `-${name}`}` : name
}

// A database that is away fails at every read: one line is enough.
function errorNotes({ terminal, secrets }: CommandCall<unknown>): (error: unknown) => void {
  let last = ''
  return (error) => {
    const text = secrets.hide(error instanceof Error ? error.message : String(error))
    if (text !== last) terminal.note(`sendoff: ${printable(text)}`)
    last = text
  }
}

function openInBrowser(url: string, onFailure: (reason: string) => void): void {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(command!, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => onFailure(`There is no ${command} here. Open the address yourself.`))
  child.unref()
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}
