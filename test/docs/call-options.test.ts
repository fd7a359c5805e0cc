import { deepEqual } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { projectRoot } from '../workspace.ts'
import { callOptionRows, callOptions, callOptionsPage } from './call-options-page.ts'
import { type OptionOfType, readOptionTypes } from './option-types.ts'
import { sectionsOf } from './page-sections.ts'

/**
 * Types of options that other pages have, by where: `docs/options.md` lists what the calls themselves accept, which
 * `reference.test.ts` compares.
 */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'docs/options.md': [
    'BounceWebhookOptions',
    'CircuitBreakerOptions',
    'ConsumerOptions',
    'DashboardOptions',
    'EventDefinition',
    'ExponentialBackoffOptions',
    'FailoverTransportOptions',
    'FileTransportOptions',
    'FixedDelayOptions',
    'HttpMailTransportOptions',
    'HttpPublisherOptions',
    'InboxOptions',
    'KafkaConsumerOptions',
    'KafkaPublisherOptions',
    'KeyRingOptions',
    'LinearBackoffOptions',
    'ListenerOptions',
    'LogTransportOptions',
    'MailOutboxOptions',
    'MailOutboxWorkerOptions',
    'MemoryStoreOptions',
    'MysqlStoreOptions',
    'NatsConsumerOptions',
    'NatsPublisherOptions',
    'NodemailerTransportOptions',
    'OpenTelemetryHistogramsOptions',
    'OpenTelemetryMetricsOptions',
    'OpenTelemetryTracingOptions',
    'OrderedOptions',
    'OutboxOptions',
    'PartitionedOptions',
    'PollerSettings',
    'PostgresStoreOptions',
    'PrometheusMetricsOptions',
    'PublisherOptions',
    'PurgeOptions',
    'RabbitmqConsumerOptions',
    'RabbitmqPublisherOptions',
    'RedisStoreOptions',
    'RedisStreamsConsumerOptions',
    'RedisStreamsPublisherOptions',
    'ReplayOptions',
    'RetryScheduleOptions',
    'ServeDashboardOptions',
    'SingleWriterOptions',
    'SqliteStoreOptions',
    'SuppressionListOptions',
    'TokenAuthorizeOptions',
    'WebhookReceiverOptions',
    'WriterOnlyOptions',
  ],
  'docs/nestjs.md': [
    'CircuitBreakerConfig',
    'ClaimLockingConfig',
    'DispatcherConfig',
    'HealthConfig',
    'LockConfig',
    'MetricsConfig',
    'OutboxConfig',
    'PollerConfig',
    'PurgeConfig',
    'RetryConfig',
  ],
  // The options of an outbox, of a dashboard or of a publisher under another name.
  'the sections of others': [
    'ModuleSettings',
    'OutboxDashboardSettings',
    'OutboxModuleOptions',
    'RelayOutboxOptions',
    'ResolvedOptions',
  ],
  // What authors of stores, of engines and of clients meet. The API reference and doc comments explain it.
  'docs/stores.md and docs/parts.md': [
    'AmbientTransactionsOptions',
    'BlockedKeyManagerOptions',
    'ClaimSourceOptions',
    'DeadEventManagerOptions',
    'DispatchSettings',
    'DispatcherHotPathOptions',
    'EnvelopeOptions',
    'InFlightTrackerOptions',
    'LaneSettings',
    'LeaseKeeperOptions',
    'OutboxDispatcherOptions',
    'OutboxPollerOptions',
    'OutboxPurgeSchedulerOptions',
    'OutboxWriterOptions',
    'PollerAlarmOptions',
    'StoreTransactionOptions',
    'StoredRule',
  ],
  'shapes of clients and of their calls': [
    'AmqplibMessageOptions',
    'ConsumerProcessOptions',
    'KafkajsRunConfig',
    'LogFields',
    'MikroOrmTransactionOptions',
    'NatsPublishOptions',
    'NodeRedisScriptOptions',
    'NodeRedisTrimOptions',
    'PlatformaticConsumeOptions',
    'PlatformaticSendOptions',
    'RabbitmqClientConsumerOptions',
    'SpanOptions',
  ],
}

describe('the options of calls', () => {
  let types: ReadonlyMap<string, readonly OptionOfType[]>
  const pageOf = (file: string) => readFileSync(join(projectRoot, file), 'utf8')
  before(() => {
    types = readOptionTypes()
  })

  it('are listed exactly, with the texts of the code', () => {
    const page = readFileSync(callOptionsPage, 'utf8')
    const plain = (row: string): string => row.replaceAll(/ +/g, ' ').trim()
    const listed = page
      .split('\n## ')
      .slice(1)
      .map((section) => [
        section.split('\n', 1)[0],
        section
          .split('\n')
          .filter((line) => line.startsWith('| `'))
          .map(plain),
      ])
    deepEqual(
      listed,
      [...callOptionRows(types)].map(([heading, rows]) => [heading, rows.map(plain)]),
      'write them again: node test/docs/call-options-page.ts && npx prettier --write docs/call-options.md',
    )
  })

  it('include every exported type of options, unless another page has it', () => {
    const told = [...callOptions.flatMap((section) => section.types), ...Object.values(elsewhere).flat()]
    deepEqual(told.toSorted(), [...types.keys()].toSorted())
  })

  it('of functions that accept unknown options are in docs/options.md', () => {
    const sections = sectionsOf(pageOf('docs/options.md'))
    const listed = (heading: string) => sections.get(heading)!.names.toSorted()
    const namesOf = (type: string, without: readonly string[] = []) => {
      const names = types.get(type)!.map(({ name }) => name)
      return names.filter((name) => !without.includes(name)).toSorted()
    }
    deepEqual(listed('`serveDashboard`'), namesOf('ServeDashboardOptions', namesOf('DashboardOptions')))
    deepEqual(listed('`tokenAuthorize`'), namesOf('TokenAuthorizeOptions'))
    const ofModule = [...namesOf('ModuleSettings'), 'mode', 'name', 'isGlobal', 'configPrefix']
    deepEqual(listed('`OutboxModule`'), ofModule.toSorted())
  })

  it('of the configuration of NestJS are those of its groups', () => {
    const [, table = ''] = pageOf('docs/nestjs.md').split('\n| group ')
    const rows = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| (none|`\w+`) +\| (.+?) *\|$/gm)]
    const listed = rows.map(([, group = '', cell = '']) => [group.replaceAll('`', ''), settingsIn(cell)])
    const groups = types.get('OutboxConfig')!.map(({ name }) => [name, types.get(typeOfGroup(name))] as const)
    const ofNone = groups.filter(([, settings]) => settings === undefined).map(([name]) => name)
    deepEqual(
      listed.toSorted(),
      [
        ['none', ofNone],
        ...groups.flatMap(([name, settings]) =>
          settings === undefined ? [] : [[name, settings.map((each) => each.name)]],
        ),
      ]
        .map(([name, settings]) => [name, (settings as string[]).toSorted()])
        .toSorted(),
    )
  })
})

function typeOfGroup(group: string): string {
  return `${group[0]!.toUpperCase()}${group.slice(1)}Config`
}

/** Returns the settings that a cell lists: what comes before a colon, in each part between semicolons. */
function settingsIn(cell: string): readonly string[] {
  return cell
    .split(';')
    .flatMap((part) => [...part.split(':')[0]!.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    .toSorted()
}
