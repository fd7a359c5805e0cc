import type { DynamicModule, InjectionToken, OptionalFactoryDependency, Provider, Type } from '@nestjs/common'
import type {
  OrderedOptions,
  OutboxOptions,
  PartitionedOptions,
  SingleWriterOptions,
  TransactionOptions,
  WriterOnlyOptions,
} from 'sendoff'
import type { OutboxConfig } from './outbox-config.ts'
import type { OutboxModeName } from './outbox-mode.ts'
import type { ConfigReader } from './read-config.ts'

/** Options of an outbox in a module: those of its mode, and those of the module. */
export type OutboxModuleOptions<Tx, StoreTx, TxOptions = TransactionOptions> = ModuleSettings &
  (
    | (InMode<'SINGLE_WRITER'> & SingleWriterOptions<Tx, StoreTx, TxOptions>)
    | (InMode<'PARTITIONED'> & PartitionedOptions<Tx, StoreTx, TxOptions>)
    | (InMode<'ORDERED'> & OrderedOptions<Tx, StoreTx, TxOptions>)
    | (InMode<'WRITER_ONLY'> & WriterOnlyOptions<Tx, StoreTx, TxOptions>)
    | (Partial<InMode<'SINGLE_NODE' | 'MULTI_NODE'>> & OutboxOptions<Tx, StoreTx, TxOptions>)
  )

/** Options of outboxes in these modes. */
export interface InMode<Mode extends OutboxModeName> {
  /** How processes share the work. Default: `SINGLE_NODE`. */
  readonly mode: Mode
}

/** What the module adds to the options of an outbox. */
export interface ModuleSettings {
  /**
   * The configuration: the `ConfigService` of `@nestjs/config`, or an object. What it sets takes precedence
   * over options in code.
   */
  readonly config?: ConfigReader | OutboxConfig
  /**
   * Whether the outbox starts when the application has started. With false, call `outbox.start()` yourself.
   * Default: true.
   */
  readonly autoStart?: boolean
}

/** Defaults of what the module adds. */
export const moduleDefaults = { mode: 'SINGLE_NODE', autoStart: true, isGlobal: true } as const

/** How the module is put into the application. */
export interface OutboxModuleScope {
  /** The name of the outbox, if there are several. */
  readonly name?: string
  /** Whether every module can inject the outbox without importing this module. Default: true. */
  readonly isGlobal?: boolean
  /** The path of the configuration in the `ConfigService`. Default: `outbox`, or `<name>.outbox`. */
  readonly configPrefix?: string
}

/** Makes options in a class of its own, for `useClass` and `useExisting`. */
export interface OutboxOptionsFactory<Tx = never, StoreTx = never, TxOptions = never> {
  createOutboxOptions():
    OutboxModuleOptions<Tx, StoreTx, TxOptions> | Promise<OutboxModuleOptions<Tx, StoreTx, TxOptions>>
}

/** Options of `OutboxModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface OutboxModuleAsyncOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
> extends OutboxModuleScope {
  /** The modules that export the dependencies. */
  readonly imports?: DynamicModule['imports']
  /** The tokens of the arguments of `useFactory`. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[]
  /** Makes the options. */
  readonly useFactory?: (
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- Nest passes what `inject` names.
    ...dependencies: any[]
  ) => OutboxModuleOptions<Tx, StoreTx, TxOptions> | Promise<OutboxModuleOptions<Tx, StoreTx, TxOptions>>
  /** A class that makes the options, of which the module makes an instance. */
  readonly useClass?: Type<OutboxOptionsFactory<Tx, StoreTx, TxOptions>>
  /** The token of a provider that makes the options. */
  readonly useExisting?: InjectionToken<OutboxOptionsFactory<Tx, StoreTx, TxOptions>>
  /** Further providers of this module, which `inject` may name. */
  readonly extraProviders?: Provider[]
}
