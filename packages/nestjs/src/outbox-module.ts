import type { DynamicModule, InjectionToken, Provider } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, ModuleRef, ModulesContainer } from '@nestjs/core'
import { ListenerRegistry, Outbox, OutboxError, type TransactionOptions } from 'sendoff'
import type { PrometheusRegistry } from 'sendoff/prometheus'
import { ListenerExplorer } from './listener-explorer.ts'
import { OutboxHealthIndicator } from './outbox-health-indicator.ts'
import { OutboxLifecycle } from './outbox-lifecycle.ts'
import { outboxModes } from './outbox-mode.ts'
import {
  moduleDefaults,
  type ModuleSettings,
  type OutboxModuleAsyncOptions,
  type OutboxModuleOptions,
  type OutboxModuleScope,
  type OutboxOptionsFactory,
} from './outbox-module-options.ts'
import {
  defaultOutboxName,
  getListenerRegistryToken,
  getOutboxLifecycleToken,
  getOutboxOptionsToken,
  getOutboxToken,
  OUTBOX_METRICS_REGISTRY,
} from './outbox-tokens.ts'
import { type ResolvedOptions, resolveOptions } from './resolve-options.ts'

/**
 * An outbox as a module of a Nest application. It provides the outbox for `@InjectOutbox()`, registers the
 * listeners of all providers and controllers, starts with the application and closes with it.
 */
export class OutboxModule {
  /** Adds an outbox whose options are known. */
  static forRoot<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: OutboxModuleOptions<Tx, StoreTx, TxOptions> & OutboxModuleScope,
  ): DynamicModule {
    const { name, isGlobal, configPrefix, ...given } = options
    return moduleOf({ name, isGlobal, configPrefix } as OutboxModuleScope, {
      inject: [],
      useFactory: () => given,
    })
  }

  /** Adds an outbox whose options depend on other providers, such as a pool or the `ConfigService`. */
  static forRootAsync<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: OutboxModuleAsyncOptions<Tx, StoreTx, TxOptions>,
  ): DynamicModule {
    return moduleOf(options, sourceOf(options as OutboxModuleAsyncOptions<never, never>))
  }
}

/** How the options of an outbox are made. */
interface OptionsSource {
  readonly imports?: DynamicModule['imports'] | undefined
  readonly providers?: readonly Provider[]
  readonly inject: Exclude<OutboxModuleAsyncOptions<never, never>['inject'], undefined>
  readonly useFactory: (...dependencies: never[]) => ModuleSettings | Promise<ModuleSettings>
}

function sourceOf(options: OutboxModuleAsyncOptions<never, never>): OptionsSource {
  const { imports, extraProviders = [], inject = [], useFactory, useClass, useExisting } = options
  if (useFactory !== undefined) return { imports, providers: extraProviders, inject, useFactory }
  const token = useClass ?? useExisting
  if (token === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'OutboxModule.forRootAsync needs one of the options useFactory, useClass and useExisting.',
    )
  }
  return {
    imports,
    providers: useClass === undefined ? extraProviders : [...extraProviders, useClass],
    inject: [token as InjectionToken],
    useFactory: (factory: OutboxOptionsFactory) => factory.createOutboxOptions(),
  }
}

function moduleOf(
  { name = defaultOutboxName, isGlobal = moduleDefaults.isGlobal, configPrefix }: OutboxModuleScope,
  { imports = [], providers = [], inject, useFactory }: OptionsSource,
): DynamicModule {
  const optionsProvider: Provider = {
    provide: getOutboxOptionsToken(name),
    inject: [{ token: OUTBOX_METRICS_REGISTRY, optional: true }, ModuleRef, ...inject],
    useFactory: async (
      registry: PrometheusRegistry | undefined,
      moduleRef: ModuleRef,
      ...dependencies: never[]
    ) => {
      const given = await useFactory(...dependencies)
      return resolveOptions(name, given, configPrefix, registry ?? registryAnywhere(moduleRef))
    },
  }
  return {
    module: OutboxModule,
    global: isGlobal,
    imports: [DiscoveryModule, ...imports],
    providers: [...providers, optionsProvider, ...outboxProviders(name)],
    exports: outboxExports(name),
  }
}

// A registry is often a value of the root module, which exports nothing.
function registryAnywhere(moduleRef: ModuleRef): PrometheusRegistry | undefined {
  try {
    return moduleRef.get<PrometheusRegistry>(OUTBOX_METRICS_REGISTRY, { strict: false })
  } catch {
    return undefined
  }
}

/** The providers of an outbox whose options another provider makes. */
export function outboxProviders(name: string): readonly Provider[] {
  return [
    {
      provide: getListenerRegistryToken(name),
      inject: [getOutboxOptionsToken(name)],
      useFactory: ({ options }: ResolvedOptions) => options.listeners ?? new ListenerRegistry(),
    },
    {
      provide: getOutboxToken(name),
      inject: [getOutboxOptionsToken(name), getListenerRegistryToken(name)],
      useFactory: ({ mode, options }: ResolvedOptions, listeners: ListenerRegistry) =>
        mode === 'WRITER_ONLY'
          ? Outbox.writerOnly(options as never)
          : Outbox[outboxModes[mode]]({ ...options, listeners } as never),
    },
    {
      provide: OutboxHealthIndicator,
      inject: [ModuleRef],
      useFactory: (moduleRef: ModuleRef) => new OutboxHealthIndicator(moduleRef),
    },
    {
      provide: getOutboxLifecycleToken(name),
      inject: [
        getOutboxToken(name),
        getOutboxOptionsToken(name),
        getListenerRegistryToken(name),
        DiscoveryService,
        ModuleRef,
        ModulesContainer,
      ],
      useFactory: (
        outbox: Outbox<unknown>,
        options: ResolvedOptions,
        registry: ListenerRegistry,
        discovery: DiscoveryService,
        moduleRef: ModuleRef,
        modules: ModulesContainer,
      ) => {
        const explorer = new ListenerExplorer({ discovery, moduleRef })
        return new OutboxLifecycle({ name, outbox, options, registry, explorer, modules })
      },
    },
  ]
}

/** What a module with an outbox exports. */
export function outboxExports(name: string): NonNullable<DynamicModule['exports']> {
  return [
    getOutboxToken(name),
    getOutboxOptionsToken(name),
    getListenerRegistryToken(name),
    OutboxHealthIndicator,
  ]
}
