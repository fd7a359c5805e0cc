import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Module } from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'
import { Test } from '@nestjs/testing'
import type { EventEnvelope, Outbox } from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import {
  getOutboxOptionsToken,
  getOutboxToken,
  type OutboxConfig,
  OutboxListener,
  OutboxModule,
  type OutboxModuleOptions,
  type OutboxOptionsFactory,
  type ResolvedOptions,
} from '@sendoff/nestjs'
import { configSettings } from '../src/config-settings.ts'
import { resolveOptions } from '../src/resolve-options.ts'

describe('the configuration of an outbox', () => {
  it('comes from @nestjs/config under the prefix outbox, over the options in code', async (test) => {
    const { mode, options } = await configured(
      test,
      {
        outbox: {
          mode: 'MULTI_NODE',
          migrate: 'false',
          dispatcher: { 'worker-count': '8', maxAttempts: 3 },
          retry: { policy: 'fixed', 'base-delay': '2s' },
          poller: { 'interval-ms': 100 },
          'claim-locking': { enabled: true, 'lock-timeout': '5m', ownerId: 'node-1' },
          purge: { enabled: 'true', retention: '1d' },
          health: { maxLag: '1m' },
        },
      },
      { workerCount: 2, poller: { batchSize: 7 }, purge: { batchSize: 9 } },
    )
    const { retryPolicy, store: _, logger: __, ...rest } = options
    equal(mode, 'MULTI_NODE')
    equal(retryPolicy?.computeDelayMs(4), 2_000)
    deepEqual(rest, {
      migrate: false,
      workerCount: 8,
      maxAttempts: 3,
      leaseMs: 300_000,
      ownerId: 'node-1',
      poller: { batchSize: 7, intervalMs: 100 },
      purge: { batchSize: 9, retentionMs: 86_400_000 },
      health: { maxLagMs: 60_000 },
    })
  })

  it('comes from environment variables, over everything else', async (test) => {
    const variables = {
      OUTBOX_MODE: 'partitioned',
      OUTBOX_DISPATCHER_WORKER_COUNT: '16',
      OUTBOX_CLAIM_LOCKING_LOCK_TIMEOUT: '45s',
      OUTBOX_AUTO_START: 'false',
    }
    Object.assign(process.env, variables)
    test.after(() => Object.keys(variables).forEach((name) => delete process.env[name]))
    const { mode, autoStart, options } = await configured(test, {
      outbox: { mode: 'MULTI_NODE', dispatcher: { workerCount: 8 } },
    })
    deepEqual([mode, autoStart, options.workerCount, options.leaseMs], ['PARTITIONED', false, 16, 45_000])
  })

  it('of a named outbox is under its name, or under a prefix of your own', async (test) => {
    const load = { orders: { outbox: { mode: 'ORDERED' } }, queue: { mode: 'SINGLE_WRITER' } }
    equal((await configured(test, load, {}, { name: 'orders' })).mode, 'ORDERED')
    equal((await configured(test, load, {}, { configPrefix: 'queue' })).mode, 'SINGLE_WRITER')
  })

  it('may be an object in code', () => {
    const config: OutboxConfig = { mode: 'MULTI_NODE', circuitBreaker: { enabled: false } }
    const { mode, options } = resolveOptions('default', { config })
    equal(mode, 'MULTI_NODE')
    equal((options as { circuitBreaker?: unknown }).circuitBreaker, false)
  })

  it('sets every option to a value that the outbox of its mode takes', async (test) => {
    const samples: Record<string, unknown> = {
      ownerId: 'me',
      name: 'lock',
      prefix: 'shop',
      failureRate: '0.5',
    }
    const only: Record<string, string> = {
      onKeyFailure: 'PARTITIONED',
      onFailure: 'ORDERED',
      ageMs: 'WRITER_ONLY',
      lock: 'SINGLE_WRITER',
      circuitBreaker: 'SINGLE_WRITER',
    }
    const words: Record<string, string> = {
      onUnroutable: 'defer',
      onKeyFailure: 'block',
      onFailure: 'dead',
      policy: 'linear',
    }
    for (const [group, settings] of Object.entries(configSettings)) {
      for (const [setting, { expects }] of Object.entries(settings)) {
        if (setting === 'mode') continue
        const value = samples[setting] ?? words[setting] ?? (expects === 'true or false' ? 'true' : '5')
        const own = {
          [setting]: value,
          ...(group === 'purge' && { enabled: true }),
          ...(group === 'retry' && {
            policy: setting === 'policy' ? value : setting === 'maxDelayMs' ? 'exponential' : 'linear',
          }),
        }
        const mode = only[setting] ?? only[group] ?? 'SINGLE_NODE'
        const outbox = { mode, ...(group === '' ? own : { [group]: own }) }
        await configured(test, { outbox })
      }
    }
  })

  for (const [mode, registered] of [
    ['SINGLE_NODE', 'singleNode'],
    ['MULTI_NODE', 'multiNode'],
    ['SINGLE_WRITER', 'singleWriter'],
    ['ORDERED', 'ordered'],
    ['PARTITIONED', 'partitioned'],
    ['WRITER_ONLY', null],
  ] as const) {
    it(`makes an outbox in the mode ${mode}`, async (test) => {
      const store = memoryStore()
      const shipped: unknown[] = []

      class Shipping {
        @OutboxListener('OrderPlaced')
        ship({ payload }: EventEnvelope) {
          shipped.push(payload)
        }
      }
      const application = await Test.createTestingModule({
        imports: [
          ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, load: [() => ({ outbox: { mode } })] }),
          OutboxModule.forRootAsync({
            inject: [ConfigService],
            useFactory: (config: ConfigService) => ({ config, store }),
          }),
        ],
        providers: [Shipping],
      }).compile()
      test.after(() => application.close())
      await application.init()
      const outbox: Outbox<MemoryTx> = application.get(getOutboxToken())
      await outbox.transaction(() => outbox.write('OrderPlaced', 'o-1', { orderingKey: 'o-1' }))
      const processes = await store.reports.living()
      deepEqual(
        processes.map((each) => each.mode),
        [registered],
      )
      if (registered === null) return
      await outbox.drain()
      deepEqual(shipped, ['o-1'])
    })
  }

  for (const [what, config, message] of [
    [
      'an unknown group',
      { dispatchers: {} },
      /"outbox" has no setting "dispatchers". Its settings are: mode, migrate, autoStart, dispatcher, retry/,
    ],
    [
      'an unknown setting',
      { poller: { interval: '5s', batch: 1 } },
      /"outbox.poller" has no setting "batch". Its settings are: enabled, intervalMs/,
    ],
    [
      'a value that does not fit',
      { dispatcher: { workerCount: 'many' } },
      /"outbox.dispatcher.workerCount" must be a whole number of at least 1, not "many"/,
    ],
    [
      'a duration without a meaning',
      { poller: { interval: '5 minutes' } },
      /"outbox.poller.interval" must be milliseconds above 0/,
    ],
    [
      'an unknown mode',
      { mode: 'CLUSTER' },
      /"outbox.mode" must be one of SINGLE_NODE, MULTI_NODE, SINGLE_WRITER, ORDERED, PARTITIONED, WRITER_ONLY, not "CLUSTER"/,
    ],
    [
      'a group that is not an object',
      { purge: true },
      /"outbox.purge" must be an object with settings, not true/,
    ],
    [
      'several nodes without claims',
      { mode: 'MULTI_NODE', 'claim-locking': { enabled: 'false' } },
      /The outbox "default" has the mode MULTI_NODE, but "outbox.claim-locking.enabled" is false/,
    ],
    [
      'an option of another mode',
      { mode: 'ORDERED', dispatcher: { workerCount: 4 } },
      /Outbox.ordered has no option "workerCount"/,
    ],
  ] as const) {
    it(`is refused with ${what}`, async (test) => {
      await rejects(configured(test, { outbox: config }), message)
    })
  }

  it('does not repeat a long text, which may be a secret', () => {
    const config = { mode: 'a-password-at-the-wrong-place' } as unknown as OutboxConfig
    throws(
      () => resolveOptions('default', { config }),
      (error: Error) => !error.message.includes('password'),
    )
  })

  it('turns claim locking off where a lock protects the table', () => {
    equal(resolveOptions('default', { config: { claimLocking: { enabled: false } } }).mode, 'SINGLE_NODE')
  })

  it('does not purge unless purge is enabled', () => {
    const config = { purge: { retentionMs: '1d' } }
    equal('purge' in resolveOptions('default', { config }).options, false)
    const off = { config: { purge: { enabled: false } }, purge: true } as object
    equal('purge' in resolveOptions('default', off).options, false)
  })
})

describe('the options of a module', () => {
  it('come from a class, too', async (test) => {
    class Options implements OutboxOptionsFactory<MemoryTx, MemoryTx> {
      createOutboxOptions(): OutboxModuleOptions<MemoryTx, MemoryTx> {
        return { mode: 'WRITER_ONLY', store: memoryStore() }
      }
    }
    @Module({ providers: [Options], exports: [Options] })
    class OptionsModule {}

    for (const how of [{ useClass: Options }, { useExisting: Options, imports: [OptionsModule] }]) {
      const application = await Test.createTestingModule({
        imports: [OutboxModule.forRootAsync(how)],
      }).compile()
      test.after(() => application.close())
      await application.init()
      const outbox: Outbox<MemoryTx> = application.get(getOutboxToken())
      await outbox.transaction(() => outbox.write('Any', 1))
      equal('on' in outbox, false)
    }
  })

  it('have to come from somewhere', () => {
    throws(() => OutboxModule.forRootAsync({}), /one of the options useFactory, useClass and useExisting/)
  })
})

type Given = Omit<
  Extract<OutboxModuleOptions<MemoryTx, MemoryTx>, { mode?: 'SINGLE_NODE' | 'MULTI_NODE' }>,
  'store'
>

/** Starts an application with this configuration, and returns the options of its outbox. */
async function configured(
  test: TestContext,
  load: object,
  given: Given = {},
  scope: { readonly name?: string; readonly configPrefix?: string } = {},
): Promise<ResolvedOptions> {
  const application = await Test.createTestingModule({
    imports: [
      ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, load: [() => load] }),
      OutboxModule.forRootAsync({
        ...scope,
        inject: [ConfigService],
        useFactory: (config: ConfigService) => ({ ...given, config, store: memoryStore() }),
      }),
    ],
  }).compile()
  const resolved: ResolvedOptions = application.get(getOutboxOptionsToken(scope.name))
  // The tables of a store in memory need no migration, so this start tries the options alone.
  if (resolved.options.migrate !== false) await application.init()
  test.after(() => application.close())
  return resolved
}
