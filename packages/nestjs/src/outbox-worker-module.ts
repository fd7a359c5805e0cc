import type {
  DynamicModule,
  InjectionToken,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OptionalFactoryDependency,
  Provider,
} from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'

/** Something that runs with the application, such as a `MailOutboxWorker` or a consumer of an inbox. */
export interface OutboxWorker {
  start(): Promise<unknown>
  /** Takes nothing more, and resolves when the work under way has ended. */
  close(): Promise<unknown>
}

/** Options of `OutboxWorkerModule.register`. */
export interface OutboxWorkerOptions<Worker extends OutboxWorker> {
  /** The token under which every module can inject the worker, such as its class. */
  readonly provide: InjectionToken
  /** The modules that export the dependencies. */
  readonly imports?: DynamicModule['imports']
  /** The tokens of the arguments of `useFactory`. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[]
  /** Makes the worker, and does not start it. */
  readonly useFactory: (
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- Nest passes what `inject` names.
    ...dependencies: any[]
  ) => Worker | Promise<Worker>
}

/**
 * Runs a worker with the application. The worker starts when everything else has started, the outboxes
 * included. It closes before them, and before the `onApplicationShutdown` hooks of other modules.
 */
export class OutboxWorkerModule {
  /** Adds a worker. An application may have several. */
  static register<Worker extends OutboxWorker>({
    provide,
    imports = [],
    inject = [],
    useFactory,
  }: OutboxWorkerOptions<Worker>): DynamicModule {
    const lifecycle = Symbol('sendoff:worker')
    const providers: Provider[] = [
      { provide, inject, useFactory },
      {
        provide: lifecycle,
        inject: [provide, ModulesContainer],
        useFactory: (worker: OutboxWorker, modules: ModulesContainer) => {
          // Below the distance of an outbox: Nest starts it after the outbox, and shuts it down before.
          for (const each of modules.values()) if (each.providers.has(lifecycle)) each.distance = -2
          return new WorkerLifecycle(worker)
        },
      },
    ]
    return { module: OutboxWorkerModule, global: true, imports, providers, exports: [provide] }
  }
}

class WorkerLifecycle implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #worker: OutboxWorker

  constructor(worker: OutboxWorker) {
    this.#worker = worker
  }

  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.#worker.start()
    } catch (error) {
      // Nest 11 calls no hook to shut down an application that did not start.
      await this.#worker.close()
      throw error
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#worker.close()
  }
}
