import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Injectable } from '@nestjs/common'
import type { ConfigService } from '@nestjs/config'
import type { Pool } from 'pg'
import type { DispatchContext, EventEnvelope, EventListener, EventWriter, FinalFailure } from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import { postgresStore } from 'sendoff/postgres'
import type { PrometheusMetricsOptions } from 'sendoff/prometheus'
import { typeormTransactions } from 'sendoff/transactions/typeorm'
import type { DataSource, EntityManager } from 'typeorm'
import {
  type CircuitBreakerConfig,
  type HealthConfig,
  type LockConfig,
  type MetricsConfig,
  type OutboxConfig,
  OutboxFallback,
  OutboxListener,
  OutboxModule,
  type OutboxModuleOptions,
  OutboxRetryable,
  OutboxWorkerModule,
  type PollerConfig,
  type PurgeConfig,
} from '@sendoff/nestjs'
import { OutboxDashboardModule } from '@sendoff/nestjs/dashboard'
import { OrderPaid, OrderPlaced } from './order-events.ts'

// The compiler does these checks: an expected error that does not occur is an error.
describe('the types of the module', () => {
  it('refuse a listener for another payload', () => {
    @Injectable()
    class Listeners {
      @OutboxListener(OrderPlaced)
      typed(event: EventEnvelope<{ orderId: string; total: number }>, { signal }: DispatchContext) {
        signal.throwIfAborted()
        return void event.payload.total.toFixed(2)
      }

      @OutboxListener(OrderPlaced)
      without() {}

      // @ts-expect-error the total is a number
      @OutboxListener(OrderPlaced)
      wrong(event: EventEnvelope<{ total: string }>) {
        return void event
      }

      // @ts-expect-error the payload of an event by name is unknown
      @OutboxListener({ eventType: 'OrderPlaced', aggregateType: 'Order' })
      unchecked(event: EventEnvelope<{ total: number }>) {
        return void event
      }

      // @ts-expect-error a fallback gets a FinalFailure
      @OutboxFallback(OrderPaid)
      fallback(_event: EventEnvelope<{ orderId: string }>, failure: { attempt: string }) {
        return failure
      }

      @OutboxFallback(OrderPaid)
      rightFallback(event: EventEnvelope<{ orderId: string }>, { attempts, reason }: FinalFailure) {
        return [event, attempts, reason]
      }
    }

    // @ts-expect-error a class needs onEvent or onEvents
    @OutboxListener(OrderPlaced)
    class Empty {}

    // @ts-expect-error the payload of the event is another one
    @OutboxListener(OrderPaid)
    class Wrong implements EventListener<{ total: number }> {
      onEvent(event: EventEnvelope<{ total: number }>) {
        return void event
      }
    }
    equal([Listeners, Empty, Wrong].length, 3)
  })

  it('refuse unknown options of a listener', () => {
    const typed = () => {
      OutboxListener(OrderPlaced, { timeoutMs: 1_000, destination: 'mail', outbox: 'orders' })
      // @ts-expect-error it is timeoutMs
      OutboxListener(OrderPlaced, { timeout: 1_000 })
      // @ts-expect-error it is aggregateType
      OutboxListener({ eventType: 'OrderPlaced', aggregate: 'Order' })
      // @ts-expect-error a policy has computeDelayMs
      OutboxRetryable({ attempts: 3 })
    }
    equal(typeof typed, 'function')
  })

  it('refuse an unknown event and a wrong payload', () => {
    const typed = async (events: EventWriter<EntityManager>) => {
      await events.write(OrderPlaced, { orderId: 'o-1', total: 1 })
      // @ts-expect-error the total is missing
      await events.write(OrderPlaced, { orderId: 'o-1' })
      // @ts-expect-error there is no such event
      await events.write(OrderPlaced.Cancelled, { orderId: 'o-1' })
    }
    equal(typeof typed, 'function')
  })

  it('refuse options that the mode does not have', () => {
    const typed = (pool: Pool, dataSource: DataSource, config: ConfigService) => {
      const store = memoryStore()
      OutboxModule.forRoot({ mode: 'PARTITIONED', store, onKeyFailure: 'block', config })
      // @ts-expect-error only PARTITIONED has onKeyFailure
      OutboxModule.forRoot({ mode: 'MULTI_NODE', store, onKeyFailure: 'block' })
      // @ts-expect-error ORDERED has one worker
      OutboxModule.forRoot({ mode: 'ORDERED', store, workerCount: 4 })
      // @ts-expect-error there is no such mode
      OutboxModule.forRoot({ mode: 'CLUSTER', store })
      // @ts-expect-error the store is missing
      OutboxModule.forRoot({ mode: 'MULTI_NODE' })
      // @ts-expect-error there is no such option
      OutboxModule.forRoot({ store, workers: 4 })

      OutboxModule.forRootAsync({
        useFactory: (injected: Pool) => ({
          mode: 'MULTI_NODE',
          store: postgresStore({ client: injected }),
          transactions: typeormTransactions(dataSource),
        }),
      })
      OutboxModule.forRootAsync({
        // @ts-expect-error a count is a number
        useFactory: () => ({ store: postgresStore({ client: pool }), workerCount: 'many' }),
      })
    }
    equal(typeof typed, 'function')
  })

  it('refuse settings that a group does not have', () => {
    const typed = () => {
      const store = memoryStore()
      OutboxModule.forRoot({ store, config: { mode: 'MULTI_NODE', dispatcher: { workerCount: 8 } } })
      // @ts-expect-error it is workerCount
      OutboxModule.forRoot({ store, config: { dispatcher: { workers: 8 } } })
      // @ts-expect-error there is no such group
      OutboxModule.forRoot({ store, config: { dispatchers: { workerCount: 8 } } })
    }
    equal(typeof typed, 'function')
  })

  it('have a setting for every option that is a number, a text or a flag', () => {
    type Settings<Groups> = { [Group in keyof Groups]-?: keyof NonNullable<Groups[Group]> }[keyof Groups]
    type PlainOf<Options> = Options extends unknown
      ? {
          [Name in keyof Options]-?: NonNullable<Options[Name]> extends number | string | boolean
            ? Name
            : never
        }[keyof Options]
      : never
    type Of<Option extends string, Options> =
      Options extends Partial<Record<Option, infer Value>> ? Exclude<NonNullable<Value>, boolean> : never
    type Options = OutboxModuleOptions<MemoryTx, MemoryTx>
    // The setting of `leaseMs` has the name of the specification: `claimLocking.lockTimeoutMs`.
    interface Missing {
      none: Exclude<PlainOf<Options>, Settings<OutboxConfig> | keyof OutboxConfig | 'leaseMs'>
      poller: Exclude<PlainOf<Of<'poller', Options>>, keyof PollerConfig>
      purge: Exclude<PlainOf<Of<'purge', Options>>, keyof PurgeConfig>
      health: Exclude<PlainOf<Of<'health', Options>>, keyof HealthConfig>
      lock: Exclude<PlainOf<Of<'lock', Options>>, keyof LockConfig>
      circuitBreaker: Exclude<PlainOf<Of<'circuitBreaker', Options>>, keyof CircuitBreakerConfig>
      metrics: Exclude<PlainOf<PrometheusMetricsOptions>, keyof MetricsConfig | 'name'>
    }
    const complete: {
      [Group in keyof Missing]: [Missing[Group]] extends [never] ? true : Missing[Group]
    } = {
      none: true,
      poller: true,
      purge: true,
      health: true,
      lock: true,
      circuitBreaker: true,
      metrics: true,
    }
    const plain: PlainOf<Options>[] = ['workerCount', 'maxAttempts', 'ownerId', 'onKeyFailure', 'onFailure']
    const polled: PlainOf<Of<'poller', Options>> = 'busyIntervalMs'
    const locked: PlainOf<Of<'lock', Options>> = 'renewMarginMs'
    equal([...Object.values(complete), ...plain, polled, locked].length, 14)
  })

  it('refuse a dashboard without authorize, and a worker that cannot be closed', () => {
    const typed = () => {
      OutboxDashboardModule.forRoot({ authorize: () => ({ actor: 'ann', role: 'viewer' }), readOnly: true })
      // @ts-expect-error authorize is missing
      OutboxDashboardModule.forRoot({ path: 'ops' })
      // @ts-expect-error there is no such role
      OutboxDashboardModule.forRoot({ authorize: () => ({ actor: 'ann', role: 'root' }) })
      // @ts-expect-error there is no such option
      OutboxDashboardModule.forRoot({ authorize: () => undefined, readonly: true })
      // @ts-expect-error it has no close()
      OutboxWorkerModule.register({ provide: 'WORKER', useFactory: () => ({ start: async () => {} }) })
    }
    equal(typeof typed, 'function')
  })
})
