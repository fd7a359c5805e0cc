import { once } from 'node:events'
import type { Logger } from 'sendoff'
import { exitCodes } from '../exit-codes.ts'
import { MetricsPage } from '../relay/metrics-page.ts'
import type { RelayConfig, RelayMode } from '../relay/relay-config.ts'
import { type RelayServer, serveRelay } from '../relay/relay-server.ts'
import { openRelayWorker } from '../relay/relay-worker.ts'
import { printable } from '../terminal/printable.ts'
import type { Command, CommandCall } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'
import { closeStore, configOf, openStoreOf } from './session.ts'
import { stopSignal } from './stop-signal.ts'
import { wholeNumber } from './whole-number.ts'

/** Options of `sendoff relay`. */
export interface RelayOptions extends CommonOptions {
  readonly to?: string
  readonly mode?: string
  readonly type?: readonly string[]
  readonly workers?: string
  readonly host?: string
  readonly port?: string
}

/** Runs a worker that relays events, until a signal ends it. */
export const relay: Command<RelayOptions> = async (call) => {
  const settings = await configOf(call)
  const config = relayConfigOf(call, settings.relay ?? {})
  const store = await openStoreOf(call, settings, { create: true, connections: 10 })
  const stop = stopSignal(call.signals)
  const logger = relayLogger(call)
  try {
    const { prometheusMetrics } = await import('sendoff/prometheus')
    const page = new MetricsPage()
    const worker = await openRelayWorker({
      store,
      config,
      metrics: prometheusMetrics({ register: page }),
      logger,
    })
    let server: RelayServer | undefined
    try {
      server = await serveRelay(
        { worker, metrics: page, isStopping: () => stop.signal.aborted },
        { host: config.host ?? '127.0.0.1', port: config.port ?? 9464 },
      )
      await worker.start()
      say(call, 'info', `The relay delivers. Health and metrics: ${server.address}`)
      if (!stop.signal.aborted) await once(stop.signal, 'abort')
      say(call, 'info', 'The relay stops: it delivers what it holds, and takes nothing more.')
    } finally {
      await worker.close()
      await server?.close()
    }
  } finally {
    stop.release()
    await closeStore(store, settings)
  }
  say(call, 'info', 'The relay has stopped.')
  return exitCodes.done
}

function relayConfigOf({ options, env, secrets }: CommandCall<RelayOptions>, own: RelayConfig): RelayConfig {
  const { to = env['SENDOFF_TO'], mode, type, workers, host, port } = options
  const config: RelayConfig = {
    ...own,
    ...(to !== undefined && to !== '' && { to, destinations: {} }),
    ...(mode !== undefined && { mode: mode as RelayMode }),
    ...(type !== undefined && { types: type }),
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: wholeNumber('--port', port, 0, 65_535) }),
    ...(workers !== undefined && {
      outbox: { ...own.outbox, workerCount: wholeNumber('--workers', workers, 1, 10_000) },
    }),
  }
  for (const target of [config.to, ...Object.values(config.destinations ?? {})]) hideSecrets(secrets, target)
  return config
}

// Every text in a target may be an address with a password. Clients inside it are left alone.
function hideSecrets(secrets: CommandCall<RelayOptions>['secrets'], target: unknown, depth = 0): void {
  if (typeof target === 'string') secrets.addUrl(target)
  else if (typeof target === 'object' && target !== null && depth < 3) {
    for (const value of Object.values(target)) hideSecrets(secrets, value, depth + 1)
  }
}

function relayLogger(call: CommandCall<RelayOptions>): Logger {
  const log = (level: string) => (message: string, fields?: object) => say(call, level, message, fields)
  return { debug: () => {}, info: log('info'), warn: log('warn'), error: log('error') }
}

/** Writes one line of the log: a text for people, or JSON. */
function say(
  { terminal, secrets }: CommandCall<RelayOptions>,
  level: string,
  message: string,
  fields?: object,
): void {
  const text = secrets.hide(message)
  const at = new Date().toISOString()
  if (terminal.isJson) terminal.note(secrets.hide(JSON.stringify({ at, level, message: text, ...fields })))
  else terminal.note(`${at} ${level.toUpperCase().padEnd(5)} ${printable(text)}`)
}
