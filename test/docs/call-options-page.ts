import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../workspace.ts'
import { type OptionOfType, readOptionTypes } from './option-types.ts'

/** The page with the options of single calls. */
export const callOptionsPage = join(projectRoot, 'docs/call-options.md')

/** A section of the page: options of one or more types, of which it leaves out those of other types. */
interface CallOptions {
  readonly heading: string
  readonly types: readonly string[]
  readonly without?: readonly string[]
}

/** The sections of the page by their headings. */
export const callOptions: readonly CallOptions[] = [
  { heading: '`write`', types: ['EventFields', 'WriteOptions'] },
  { heading: '`transaction`', types: ['TransactionOptions'] },
  { heading: 'Transactions of Kysely', types: ['KyselyTransactionOptions'] },
  { heading: 'Transactions of TypeORM', types: ['TypeOrmTransactionOptions'] },
  { heading: '`routing`', types: ['RoutingOptions'] },
  { heading: 'A rule of `routing`', types: ['RoutingRule'] },
  { heading: 'A destination of `routing`', types: ['DestinationOptions'] },
  { heading: '`cloudEvents` of a publisher', types: ['CloudEventsOptions'] },
  { heading: '`inbox.process`', types: ['ProcessOptions'] },
  { heading: '`purge` of an inbox', types: ['MarkPurgeOptions'] },
  { heading: '`enqueue` of a mail outbox', types: ['EnqueueOptions'] },
  { heading: '`rateLimits` of a mail worker', types: ['RateLimitOptions'] },
  { heading: '`outboxAdmin`', types: ['OutboxAdminOptions'] },
  { heading: '`admin.browse`', types: ['BrowseOptions'] },
  { heading: '`admin.deliveries`', types: ['DeliveriesOptions'] },
  { heading: '`admin.plan`', types: ['PlanOptions'] },
  { heading: '`admin.run`', types: ['RunOptions'] },
  { heading: '`admin.replayEdited`', types: ['ReplacementOptions'] },
  { heading: '`admin.copy`', types: ['CopyOptions'] },
  { heading: '`admin.doctor`', types: ['DoctorOptions'] },
  { heading: '`store.migrate`', types: ['MigrateOptions'] },
  { heading: '`openStore`', types: ['OpenStoreOptions'] },
  { heading: '`defineConfig`', types: ['SendoffConfig'] },
  { heading: '`relay` of `defineConfig`', types: ['RelayConfig'] },
  {
    heading: '`testOutbox`',
    types: ['TestOutboxOptions'],
    without: ['OutboxOptions', 'SingleWriterOptions', 'PartitionedOptions', 'OrderedOptions'],
  },
  { heading: '`fakeClock`', types: ['FakeClockOptions'] },
  { heading: '`publisherChecks`', types: ['CheckedPublisherOptions'], without: ['PublisherOptions'] },
  { heading: '`OutboxModule.forRootAsync`', types: ['OutboxModuleAsyncOptions'] },
  { heading: '`@OutboxListener`', types: ['OutboxListenerOptions'] },
  { heading: '`OutboxWorkerModule`', types: ['OutboxWorkerOptions'] },
  { heading: '`OutboxTransactionalAdapter`', types: ['OutboxTransactionalAdapterOptions'] },
  { heading: '`OutboxHealthIndicator.isHealthy`', types: ['OutboxHealthOptions'] },
  {
    heading: '`OutboxDashboardModule`',
    types: ['OutboxDashboardOptions', 'OutboxDashboardAsyncOptions'],
    without: ['DashboardOptions'],
  },
  {
    heading: '`OutboxTestingModule`',
    types: ['OutboxTestingOptions'],
    without: ['OutboxOptions', 'PartitionedOptions', 'OrderedOptions'],
  },
]

/** Returns the rows of each section's table, by its heading. */
export function callOptionRows(
  types: ReadonlyMap<string, readonly OptionOfType[]>,
): ReadonlyMap<string, readonly string[]> {
  const optionsOf = (names: readonly string[] = []): readonly OptionOfType[] =>
    names.flatMap((name) => types.get(name) ?? [])
  return new Map(
    callOptions.map(({ heading, types: names, without }) => {
      const others = new Set(optionsOf(without).map(({ name }) => name))
      const own = new Map(optionsOf(names).map((option) => [option.name, option]))
      const rows = [...own.values()].filter(({ name }) => !others.has(name)).map(rowOf)
      return [heading, rows]
    }),
  )
}

function rowOf({ name, isRequired, meaning }: OptionOfType): string {
  return `| \`${name}\`${isRequired ? ' (required)' : ''} | ${meaning.replaceAll('|', '\\|')} |`
}

// `node test/docs/call-options-page.ts` writes the sections again. Then format the page.
if (process.argv[1] === import.meta.filename) {
  const [before = ''] = readFileSync(callOptionsPage, 'utf8').split('\n## ')
  const sections = [...callOptionRows(readOptionTypes())].map(
    ([heading, rows]) => `## ${heading}\n\n| option | |\n| --- | --- |\n${rows.join('\n')}\n`,
  )
  writeFileSync(callOptionsPage, [before, ...sections].join('\n'))
}
