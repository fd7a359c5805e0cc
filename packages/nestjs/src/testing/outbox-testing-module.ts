import type { DynamicModule, InjectionToken, Provider } from '@nestjs/common'
import { DiscoveryModule } from '@nestjs/core'
import type { ListenerRegistry, TransactionOptions } from 'sendoff'
import { testOutbox, type TestOutboxOptions } from 'sendoff/testing'
import { outboxExports, outboxProviders } from '../outbox-module.ts'
import {
  defaultOutboxName,
  getListenerRegistryToken,
  getOutboxOptionsToken,
  getOutboxToken,
} from '../outbox-tokens.ts'
import type { ResolvedOptions } from '../resolve-options.ts'

/** Options of a test outbox in an application: those of `testOutbox`, and its name. */
export interface OutboxTestingOptions<Tx, StoreTx, TxOptions = TransactionOptions> extends Omit<
  TestOutboxOptions<Tx, StoreTx, TxOptions>,
  'listeners'
> {
  /** The name of the outbox. Default: the one without a name. */
  readonly name?: string
}

/**
 * A test outbox as a module, in place of `OutboxModule`: in memory, with a clock that the test moves, and
 * with the listeners of the application.
 */
export class OutboxTestingModule {
  static forRoot<StoreTx = never, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: OutboxTestingOptions<Tx, StoreTx, TxOptions> = {},
  ): DynamicModule {
    const { name = defaultOutboxName, ...rest } = options
    const replaced = new Set<unknown>([getOutboxToken(name), getOutboxOptionsToken(name)])
    const kept = outboxProviders(name).filter((each) => !('provide' in each && replaced.has(each.provide)))
    return {
      module: OutboxTestingModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        ...kept,
        { provide: getOutboxOptionsToken(name), useValue: startedByTest },
        { provide: getOutboxToken(name), ...outboxFactory(name, rest) } as Provider,
      ],
      exports: outboxExports(name),
    }
  }
}

/** The part of the builder of `Test.createTestingModule` that is used here. */
export interface OutboxOverride<Builder> {
  overrideProvider(token: InjectionToken): {
    useValue(value: unknown): Builder
    useFactory(options: { factory: (...args: never[]) => unknown; inject?: InjectionToken[] }): Builder
  }
}

/**
 * Replaces the outbox of an application under test by a test outbox, which has the listeners of the
 * application. Its database is not used, unless the options name a store.
 */
export function useTestOutbox<
  Builder extends OutboxOverride<Builder>,
  StoreTx = never,
  Tx = StoreTx,
  TxOptions = TransactionOptions,
>(builder: Builder, options: OutboxTestingOptions<Tx, StoreTx, TxOptions> = {}): Builder {
  const { name = defaultOutboxName, ...rest } = options
  const { inject, useFactory } = outboxFactory(name, rest)
  return builder
    .overrideProvider(getOutboxOptionsToken(name))
    .useValue(startedByTest)
    .overrideProvider(getOutboxToken(name))
    .useFactory({ inject, factory: useFactory })
}

// A test outbox is started when it is made.
const startedByTest: ResolvedOptions = { mode: 'MULTI_NODE', autoStart: false, options: {} }

function outboxFactory(name: string, options: object) {
  return {
    inject: [getListenerRegistryToken(name)],
    useFactory: (listeners: ListenerRegistry) => testOutbox({ ...options, listeners }),
  }
}
