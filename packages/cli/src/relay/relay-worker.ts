import type { ListenerOptions, ListenerRegistry, Logger, MetricsExporter } from 'sendoff'
import type { OutboxHealth } from 'sendoff/observe'
import type { OutboxStore } from 'sendoff/store'
import { usageError } from '../command-error.ts'
import { given } from '../given.ts'
import { requirePackage } from '../open-store/load-package.ts'
import { readRelayAddress } from './relay-address.ts'
import { type MailTarget, type RelayConfig, relayModes, type RelayTarget } from './relay-config.ts'
import { openRelayListener, type RelayListener } from './relay-listener.ts'

/** A worker that delivers the events of a table to where its configuration says. */
export interface RelayWorker {
  start(): Promise<unknown>
  health(): Promise<OutboxHealth>
  /** Claims nothing more, delivers what it holds, and closes the store and all clients. */
  close(): Promise<void>
}

/** The parts of a relay. */
export interface RelayParts {
  readonly store: OutboxStore<unknown>
  readonly config: RelayConfig
  readonly metrics: MetricsExporter
  readonly logger: Logger
}

/** Makes the worker of a relay, and connects to its targets. */
export async function openRelayWorker(parts: RelayParts): Promise<RelayWorker> {
  const { to, destinations = {} } = parts.config
  const targets = new Map<string, RelayTarget>(
    Object.entries(destinations).map(([name, each]) => [name, targetOf(each)]),
  )
  if (to !== undefined) targets.set('', targetOf(to))
  if (targets.size === 0) {
    throw usageError(
      'Where should events go? Name it with --to, in SENDOFF_TO, or as relay.to in sendoff.config.ts.',
    )
  }
  const only = targets.size === 1 ? targets.get('') : undefined
  return only !== undefined && 'mail' in only ? mailWorker(parts, only.mail) : eventWorker(parts, targets)
}

function targetOf(target: string | RelayTarget): RelayTarget {
  return typeof target === 'string' ? readRelayAddress(target) : target
}

async function eventWorker(
  parts: RelayParts,
  targets: ReadonlyMap<string, RelayTarget>,
): Promise<RelayWorker> {
  const { store, config, metrics, logger } = parts
  const { mode = 'multiNode', types, outbox: more } = config
  // A publisher keeps the order of a key within a batch, and not that of the whole table.
  const { maxBatchSize = mode === 'ordered' ? 1 : undefined } = config
  if (!relayModes.includes(mode)) {
    throw usageError(`The relay knows no mode "${mode}". Use one of ${relayModes.join(', ')}.`)
  }
  const { ListenerRegistry, Outbox } = await import('sendoff')
  const opened: RelayListener[] = []
  const listeners = new ListenerRegistry()
  const closeTargets = () => Promise.allSettled(opened.map((each) => each.close()))
  try {
    for (const [destination, target] of targets) {
      const each = await openRelayListener(target, logger)
      opened.push(each)
      const options = {
        ...(maxBatchSize !== undefined && { maxBatchSize }),
        ...(destination !== '' && { destination }),
      }
      if (types === undefined) listeners.registerDefault(each.listener, options)
      for (const name of types ?? []) registerType(listeners, name, each.listener, options)
    }
    // Events of other types are not the relay's: they wait for the process that has a listener for them.
    const others = types === undefined ? {} : { onUnroutable: 'defer' as const }
    const outbox = Outbox[mode]({ logger, ...others, ...(more as object), store, listeners, metrics })
    return {
      start: () => outbox.start(),
      health: () => outbox.health(),
      async close() {
        await outbox.close()
        await closeTargets()
      },
    }
  } catch (error) {
    await closeTargets()
    throw error
  }
}

/** Registers a listener for `Order/OrderPlaced`, or for `OrderPlaced` without an aggregate type. */
function registerType(
  listeners: ListenerRegistry,
  name: string,
  listener: RelayListener['listener'],
  options: ListenerOptions<unknown>,
): void {
  const slash = name.indexOf('/')
  if (slash === -1) listeners.register(name, listener, options)
  else listeners.register(name.slice(0, slash), name.slice(slash + 1), listener, options)
}

async function mailWorker(parts: RelayParts, target: MailTarget): Promise<RelayWorker> {
  const { store, config, metrics, logger } = parts
  if (config.mode !== undefined || config.types !== undefined) {
    throw usageError('A relay of mails takes all mails of its table. Leave out the mode and the types.')
  }
  const { smtp, transports, keyRing, encryptedOnly, render, resolveAttachment, ...options } = target
  const { MailOutbox, MailOutboxWorker, nodemailerTransport } = await import('sendoff/mail')
  const outbox = new MailOutbox<unknown>({
    store,
    logger,
    ...given({ keyRing, encryptedOnly, render, resolveAttachment }),
  })
  let closeTransport = () => {}
  const makeTransport = () => {
    if (smtp === undefined) throw usageError('The mail relay needs "smtp", or "transports" of your own.')
    const { createTransport } = requirePackage('Mail by SMTP', ['nodemailer']).module as {
      readonly createTransport: (options: object) => {
        sendMail(mail: object): Promise<unknown>
        close(): void
      }
    }
    const transporter = createTransport({ url: smtp, pool: true })
    closeTransport = () => transporter.close()
    return { default: nodemailerTransport({ transporter }) }
  }
  const worker = new MailOutboxWorker({
    ...options,
    outbox,
    transports: transports ?? makeTransport(),
    metrics,
    logger,
  })
  return {
    start: () => worker.start(),
    health: () => worker.health(),
    async close() {
      await worker.close()
      closeTransport()
    },
  }
}
