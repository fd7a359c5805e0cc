import { deepEqual, equal } from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import {
  defineEvent,
  exponentialBackoff,
  fixedDelay,
  linearBackoff,
  ListenerRegistry,
  Outbox,
  OutboxError,
  retrySchedule,
} from 'sendoff'
import { dashboard } from '@sendoff/dashboard'
import { httpPublisher } from 'sendoff/http'
import { kafkaConsumer } from 'sendoff/consumers/kafka'
import { natsConsumer } from 'sendoff/consumers/nats'
import { rabbitmqConsumer } from 'sendoff/consumers/rabbitmq'
import { redisStreamsConsumer } from 'sendoff/consumers/redis-streams'
import { webhookReceiver } from 'sendoff/consumers/webhooks'
import { Inbox } from 'sendoff/inbox'
import { kafkaPublisher } from 'sendoff/kafka'
import {
  bounceWebhook,
  failoverTransport,
  fileTransport,
  httpMailTransport,
  KeyRing,
  logTransport,
  MailOutbox,
  MailOutboxWorker,
  nodemailerTransport,
  SuppressionList,
} from 'sendoff/mail'
import { memoryStore } from 'sendoff/memory'
import { mysqlStore } from 'sendoff/mysql'
import { natsPublisher } from 'sendoff/nats'
import { openTelemetryHistograms, openTelemetryMetrics, openTelemetryTracing } from 'sendoff/opentelemetry'
import { postgresStore } from 'sendoff/postgres'
import { prometheusMetrics } from 'sendoff/prometheus'
import { rabbitmqPublisher } from 'sendoff/rabbitmq'
import { redisStore } from 'sendoff/redis'
import { redisStreamsPublisher } from 'sendoff/redis-streams'
import { sqliteStore } from 'sendoff/sqlite'
import { Registry } from 'prom-client'
import { findingCodes } from 'sendoff/store'
import { metricsMethods, optionalMethods } from '../../packages/sendoff/src/observe/metrics.ts'
import { commandLine, commandLineRows } from './command-line-page.ts'
import { errorCodes } from './error-codes.ts'
import { httpApiRows } from './http-api-page.ts'
import { metricRows, shownMetricRows } from './metrics-page.ts'
import { isValue, optionDefaults, plainCell } from './option-defaults.ts'
import { sectionsOf } from './page-sections.ts'

const root = join(import.meta.dirname, '../..')
const pageText = (page: string) => readFileSync(join(root, page), 'utf8')

describe('docs/errors.md', () => {
  it('lists exactly the codes that an error can have', () => {
    const listed = [...sectionsOf(pageText('docs/errors.md')).values()].flatMap(({ names }) => names)
    deepEqual(listed.toSorted(), errorCodes().toSorted())
  })
})

describe('docs/doctor.md', () => {
  it('lists exactly the codes that a finding of the library can have', () => {
    const listed = [...sectionsOf(pageText('docs/doctor.md')).values()].flatMap(({ names }) => names)
    deepEqual(listed.filter((name) => name === name.toUpperCase()).toSorted(), findingCodes.toSorted())
  })
})

describe('docs/options.md', () => {
  const sections = sectionsOf(pageText('docs/options.md'))
  const listed = (...headings: readonly string[]) =>
    headings.flatMap((heading) => sections.get(heading)?.names ?? [`no section "${heading}"`]).toSorted()
  const requiredIn = (headings: readonly string[]) =>
    headings
      .flatMap((heading) => [...sections.get(heading)!.defaults])
      .filter(([, cell]) => cell === 'required')
      .map(([option]) => option)
      .toSorted()

  it('has a table under each of its headings that is about options', () => {
    deepEqual(
      [...sections].filter(([, { names }]) => names.length === 0).map(([heading]) => heading),
      ['Options'],
    )
  })

  const ofPresets = {
    writerOnly: ['Every outbox', 'Outboxes that only write'],
    ordered: ['Every outbox', 'Outboxes that deliver', 'Outboxes with one order'],
    partitioned: ['Every outbox', 'Outboxes that deliver', 'Outboxes with order per key'],
    singleNode: ['Every outbox', 'Outboxes that deliver', 'Outboxes without order'],
    singleWriter: [
      'Every outbox',
      'Outboxes that deliver',
      'Outboxes without order',
      'Outboxes with a single writer',
    ],
    multiNode: ['Every outbox', 'Outboxes that deliver', 'Outboxes without order'],
  } as const
  for (const [preset, headings] of Object.entries(ofPresets)) {
    it(`lists exactly the options of Outbox.${preset}`, () => {
      const make: Make = (options) => Outbox[preset as keyof typeof ofPresets](options as never)
      deepEqual(listed(...headings), optionsOfOutbox(make).toSorted())
      deepEqual(requiredIn(headings), neededBy(make))
    })
  }

  const registry = () => new ListenerRegistry()
  const others: Readonly<Record<string, readonly [headings: readonly string[], make: Make]>> = {
    prometheusMetrics: [['`prometheusMetrics`'], prometheusMetrics as Make],
    openTelemetryMetrics: [['`openTelemetryMetrics`'], openTelemetryMetrics as Make],
    openTelemetryHistograms: [['`openTelemetryHistograms`'], openTelemetryHistograms],
    openTelemetryTracing: [['`openTelemetryTracing`'], openTelemetryTracing as Make],
    defineEvent: [['`defineEvent`'], (options) => defineEvent('Any', options)],
    register: [['`register`'], (options) => registry().register('Any', () => {}, options)],
    exponentialBackoff: [['Retry policies', '`exponentialBackoff`'], exponentialBackoff],
    linearBackoff: [['Retry policies', '`linearBackoff`'], linearBackoff],
    retrySchedule: [['Retry policies', '`retrySchedule`'], (options) => retrySchedule([1], options)],
    replayAll: [['`replayAll`'], (options) => anyOutbox().deadEvents.replayAll({}, options)],
    sqliteStore: [['`sqliteStore`'], sqliteStore as Make],
    postgresStore: [['`postgresStore`'], postgresStore as Make],
    mysqlStore: [['`mysqlStore`'], mysqlStore as Make],
    redisStore: [['`redisStore`'], redisStore as Make],
    memoryStore: [['`memoryStore`'], memoryStore],
    kafkaPublisher: [['Every publisher', '`kafkaPublisher`'], kafkaPublisher as Make],
    rabbitmqPublisher: [['Every publisher', '`rabbitmqPublisher`'], rabbitmqPublisher as Make],
    natsPublisher: [['Every publisher', '`natsPublisher`'], natsPublisher as Make],
    redisStreamsPublisher: [['Every publisher', '`redisStreamsPublisher`'], redisStreamsPublisher as Make],
    httpPublisher: [['Every publisher', '`httpPublisher`'], httpPublisher as Make],
    Inbox: [['`Inbox`'], (options) => new Inbox(options as never)],
    kafkaConsumer: [['Every consumer', '`kafkaConsumer`'], kafkaConsumer as Make],
    rabbitmqConsumer: [['Every consumer', '`rabbitmqConsumer`'], rabbitmqConsumer as Make],
    natsConsumer: [['Every consumer', '`natsConsumer`'], natsConsumer as Make],
    redisStreamsConsumer: [['Every consumer', '`redisStreamsConsumer`'], redisStreamsConsumer as Make],
    webhookReceiver: [['Every consumer', '`webhookReceiver`'], webhookReceiver as Make],
    MailOutbox: [['`MailOutbox`'], (options) => new MailOutbox(options as never)],
    MailOutboxWorker: [['`MailOutboxWorker`'], (options) => new MailOutboxWorker(options as never)],
    nodemailerTransport: [['`nodemailerTransport`'], nodemailerTransport as Make],
    httpMailTransport: [['`httpMailTransport`'], httpMailTransport as Make],
    fileTransport: [['`fileTransport`'], fileTransport as Make],
    logTransport: [['`logTransport`'], logTransport],
    failoverTransport: [['`failoverTransport`'], (options) => failoverTransport([logTransport()], options)],
    bounceWebhook: [['`bounceWebhook`'], bounceWebhook as Make],
    KeyRing: [['`KeyRing`'], (options) => new KeyRing(options as never)],
    SuppressionList: [['`SuppressionList`'], (options) => new SuppressionList(options as never)],
    dashboard: [['`dashboard`'], dashboard as Make],
  }
  for (const [name, [headings, make]] of Object.entries(others)) {
    it(`lists exactly the options of ${name}`, () => {
      deepEqual(listed(...headings), acceptedBy(make).toSorted())
    })
  }

  it('has a section for each list of defaults, and no other', () => {
    deepEqual(Object.keys(optionDefaults).toSorted(), [...sections.keys()].slice(1).toSorted())
  })

  for (const [heading, defaults] of Object.entries(optionDefaults)) {
    it(`has the defaults of the code: ${heading}`, () => {
      const cells = [...sections.get(heading)!.defaults]
      const told = cells.filter(([name, cell]) => name in defaults || isValue(cell))
      deepEqual(
        Object.fromEntries(told.map(([name, cell]) => [name, plainCell(cell)])),
        Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, String(value)])),
      )
    })
  }

  for (const [name, [headings, make]] of Object.entries(others)) {
    it(`says which options ${name} needs`, () => {
      deepEqual(requiredIn(headings), neededBy(make))
    })
  }

  it('lists options of fixedDelay that it accepts', () => {
    const hidden = ['baseDelayMs', 'maxDelayMs', 'stepMs'] // of the linear policy behind it
    const accepted = acceptedBy((options) => fixedDelay(1, options)).filter((name) => !hidden.includes(name))
    deepEqual(listed('Retry policies', '`fixedDelay`'), accepted.toSorted())
  })
})

describe('docs/observability.md', () => {
  const sections = sectionsOf(pageText('docs/observability.md'))

  it('lists exactly the metrics that exist, with both names, kind, labels and meaning', () => {
    deepEqual(
      shownMetricRows().map(plainRow),
      metricRows().map(plainRow),
      'write them again: node test/docs/metrics-page.ts && npx prettier --write docs/observability.md',
    )
  })

  it('has the metrics that an exporter registers', () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register })
    const names = register.getMetricsAsArray().map(({ name }) => name)
    deepEqual(names, sections.get('Metrics')!.names)
    equal(typeof metrics.recordDelivery, 'function')
  })

  it('lists exactly the methods of an exporter', () => {
    const { names } = sections.get('Your own exporter')!
    deepEqual(names.toSorted(), [...metricsMethods, ...optionalMethods, 'observe'].toSorted())
  })
})

describe('docs/http-api.md', () => {
  it('lists exactly the calls of the API, with their roles and what they do', () => {
    const rows = pageText('docs/http-api.md')
      .split('\n')
      .filter((line) => /^\| `(?:GET|POST)/.test(line))
    deepEqual(
      rows.map(plainRow),
      httpApiRows().map(plainRow),
      'write it again: node test/docs/http-api-page.ts && npx prettier --write docs/http-api.md',
    )
  })
})

describe('docs/command-line.md', () => {
  const page = pageText('docs/command-line.md')
  const program = commandLine()
  const commands = program.commands.map((command) => command.name())

  it('lists exactly the commands that exist', () => {
    const [table = ''] = page.split('\n## ')
    const listed = [...table.matchAll(/^\| (`.+?`) *\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
    )
    deepEqual(listed.toSorted(), commands.toSorted())
  })

  it('lists exactly the arguments and options of every command, with what they do', () => {
    const [, tables = ''] = page.split('\n## Every command\n')
    deepEqual(
      tables
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .map(plainRow),
      commandLineRows().map(plainRow),
      'write it again: node test/docs/command-line-page.ts && npx prettier --write docs/command-line.md',
    )
  })

  it('is right about the commands and options that the pages show', () => {
    const pages = [...globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md'], { cwd: root })]
    const calls = pages.flatMap((file) =>
      [...pageText(file).matchAll(/(?:^|`|npx )sendoff (?!warning:|error:)([a-z]+)(?! \|)([^`\n]*)/gm)].map(
        ([, name = '', rest = '']) => ({ file, name, options: rest.match(/(?<=\s)--[a-z-]+/g) ?? [] }),
      ),
    )
    equal(calls.length > 10, true)
    deepEqual(
      calls.filter(
        ({ name, options }) =>
          !commands.includes(name) || options.some((option) => !optionsOf(name).includes(option)),
      ),
      [],
    )
  })

  /** The options of a command, of its own commands, and of all commands. */
  function optionsOf(name: string): readonly string[] {
    const command = program.commands.find((each) => each.name() === name)!
    const all = [program, command, ...command.commands].flatMap(({ options }) => options)
    return ['--help', '--version', ...all.map(({ long }) => long ?? '')]
  }
})

describe('links between pages', () => {
  const pages = [...globSync('*.md', { cwd: root }), ...globSync('docs/**/*.md', { cwd: root })]

  it('lead to an existing file and heading', () => {
    const links = pages.flatMap((page) =>
      [...pageText(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, file, anchor]) => ({
        page,
        target: file ? join(dirname(page), file) : page,
        anchor,
      })),
    )
    equal(links.length > 0, true)
    deepEqual(
      links.filter(({ target, anchor }) => !existsSync(join(root, target)) || !hasAnchor(target, anchor)),
      [],
    )
  })

  function hasAnchor(page: string, anchor: string | undefined): boolean {
    if (anchor === undefined) return true
    return [...sectionsOf(pageText(page)).values()].some((section) => section.anchor === anchor)
  }
})

function plainRow(row: string): string {
  return row.replaceAll(/ +/g, ' ').trim()
}

type Make = (options: object) => unknown

/** Returns the names of the options that `make` accepts, as its error for an unknown one lists them. */
function acceptedBy(make: Make): readonly string[] {
  try {
    make({ noSuchOption: true })
  } catch (error) {
    const list = error instanceof OutboxError && /Its options are: (.+)\.$/.exec(error.message)?.[1]
    if (list) return list.split(', ')
    throw error
  }
  throw new Error('An unknown option was accepted.')
}

/** Values of which at least one fits each required option. */
const fitting = [
  { trace: { getTracer() {} }, propagation: {} },
  new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : () => {}) }),
  'text',
  'https://example.com',
  () => ({}),
  ['whsec_c2VjcmV0'],
  new MailOutbox({ store: memoryStore() }),
  { default: logTransport() },
]

/** Returns the names of the options that `make` requires, as its errors name them one after another. */
function neededBy(make: Make): readonly string[] {
  let given: Readonly<Record<string, unknown>> = {}
  for (let missing = missingIn(make, given); missing !== undefined; missing = missingIn(make, given)) {
    const name = missing
    const value = fitting.find((each) => !messageOf(make, { ...given, [name]: each }).includes(`"${name}"`))
    if (value === undefined) throw new Error(`No value is fit for the option "${name}".`)
    given = { ...given, [name]: value }
  }
  return Object.keys(given).toSorted()
}

function missingIn(make: Make, given: object): string | undefined {
  return /needs the option "(\w+)"/.exec(messageOf(make, given))?.[1]
}

function messageOf(make: Make, options: object): string {
  try {
    make(options)
    return ''
  } catch (error) {
    return String(error)
  }
}

function optionsOfOutbox(make: Make): readonly string[] {
  const needed = { store: memoryStore(), listeners: new ListenerRegistry() }
  const known = acceptedBy(make)
  const required = Object.fromEntries(Object.entries(needed).filter(([name]) => known.includes(name)))

  const groups = ['circuitBreaker', 'health', 'lock', 'poller', 'processors', 'purge'].filter((group) =>
    known.includes(group),
  )
  const grouped = groups.flatMap((group) =>
    acceptedBy((options) => make({ ...required, [group]: options })).map((name) => `${group}.${name}`),
  )
  return [...known, ...grouped]
}

function anyOutbox() {
  return Outbox.writerOnly({ store: memoryStore() })
}
