import type { OutboxStore } from 'sendoff/store'
import type { RelayConfig } from '../relay/relay-config.ts'

/** The content of `sendoff.config.ts`. All parts may be left out. */
export interface SendoffConfig {
  /** The address of the store. `--url` and `SENDOFF_URL` override it. */
  readonly url?: string
  /** The table of events, or the prefix of all keys in Redis. `--table` overrides it. */
  readonly table?: string
  /** The schema of the tables in PostgreSQL. `--schema` overrides it. */
  readonly schema?: string
  /**
   * Returns a store of your own in place of `url`. The command closes it. Clients that you have opened for it
   * stay open: close them in `close`.
   */
  readonly store?: () => OutboxStore<never> | Promise<OutboxStore<never>>
  /** Called after the command has closed the store. */
  readonly close?: () => unknown
  /** Who acts, for the audit. `--as` and `SENDOFF_ACTOR` override it. Default: user and host. */
  readonly actor?: string
  /** The worker that `sendoff relay` runs. */
  readonly relay?: RelayConfig
}

/** Returns the configuration as it is: it lets an editor check and complete it. */
export function defineConfig(config: SendoffConfig): SendoffConfig {
  return config
}
