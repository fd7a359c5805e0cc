import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Conditions, type StoreBench, type Suite, type SuiteName, suiteNames } from './store-bench.ts'
import { stores } from './stores/stores.ts'

export const usage = `Usage: npm run bench -- SUITE --store STORE [options]

  SUITE                 ${suiteNames.join(', ')}
  --store STORE         ${stores.map(({ name }) => name).join(', ')}; not needed for relay
  --driver DRIVER       ${stores.map(({ name, drivers }) => `${name}: ${drivers.join(' or ')}`).join('; ')}
  --synchronous LEVEL   FULL (default) or NORMAL, for SQLite
  --rounds N            how often each subject is measured: ${stores.map(({ name, rounds }) => `${name} ${rounds}`).join(', ')}
  --events N            how many events wait for a drain, a relay or observe: 100000
  --seconds N           how long a rate is measured: write and inbox 2, latency and destinations 5, idle 10 or 60, sustained, steady and strained 60, outage 30
  --workers N           listeners at once: Sendoff's own default
  --rate N              transactions that arrive in a second, in steady and strained: 1000
  --processes N         worker processes that share a drain or the arriving events: 1
  --scale N             share of the rows that stand in the tables of growth, admin, operator and inbox: 1
  --kept NAME           leaves the tables of admin and operator on the server that a variable names, and finds them there again
  --chart FILE          draws the results there as well, as SVG
  --only TEXT           subjects with this in their names, and what they are compared with
  --json                JSON lines on standard output, and nothing else there

bench/README.md says what is measured, and how to read it.`

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface BenchOptions {
  readonly suiteName: SuiteName
  /** Holds only the subjects that were asked for. */
  readonly suite: Suite
  readonly store: StoreBench
  readonly rounds: number
  readonly conditions: Omit<Conditions, 'folder'>
  readonly json: boolean
}

const defaultSeconds: Readonly<Record<SuiteName, number>> = {
  drain: 0,
  destinations: 5,
  ordered: 0,
  write: 2,
  latency: 5,
  idle: 10,
  growth: 0,
  sustained: 60,
  steady: 60,
  strained: 60,
  relay: 0,
  outage: 30,
  admin: 0,
  operator: 0,
  inbox: 2,
  observe: 0,
}

/** Reads the command line. Throws a `UsageError` that says what is wrong with it. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parse(args)
  const suiteName = oneOf('SUITE', positionals[0], suiteNames)
  const storeName = oneOf(
    '--store',
    values.store ?? onlyStoreWith(suiteName),
    stores.map(({ name }) => name),
  )
  const store = stores.find(({ name }) => name === storeName)!
  const suite = store.suites[suiteName]
  if (suite === undefined) throw new UsageError(`${storeName} has no suite ${suiteName}.`)

  return {
    suiteName,
    store,
    suite: { ...suite, subjects: chosenSubjects(suite, values.only) },
    rounds: number('--rounds', values.rounds ?? String(suite.rounds ?? store.rounds)),
    conditions: {
      run: values.kept ?? String(process.pid),
      isKept: values.kept !== undefined,
      driver: oneOf('--driver', values.driver ?? store.drivers[0], store.drivers),
      synchronous: oneOf('--synchronous', values.synchronous ?? 'FULL', ['FULL', 'NORMAL'] as const),
      events: number('--events', values.events ?? '100000'),
      seconds:
        values.seconds === undefined
          ? (suite.seconds ?? defaultSeconds[suiteName])
          : number('--seconds', values.seconds),
      rate: number('--rate', values.rate ?? '1000'),
      processes: number('--processes', values.processes ?? '1'),
      scale: number('--scale', values.scale ?? '1'),
      ...(values.chart === undefined ? {} : { chart: resolve(values.chart) }),
      ...(values.workers === undefined ? {} : { workers: number('--workers', values.workers) }),
    },
    json: values.json ?? false,
  }
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        store: text,
        driver: text,
        synchronous: text,
        rounds: text,
        events: text,
        seconds: text,
        workers: text,
        rate: text,
        processes: text,
        scale: text,
        chart: text,
        kept: text,
        only: text,
        json: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

// A suite that only one store has names that store.
function onlyStoreWith(suiteName: SuiteName): string | undefined {
  const having = stores.filter(({ suites }) => suites[suiteName] !== undefined)
  return having.length === 1 ? having[0]!.name : undefined
}

function chosenSubjects({ subjects, limit, peer }: Suite, only: string | undefined): Suite['subjects'] {
  if (only === undefined) return subjects
  const chosen = subjects.filter(({ name }) => name.includes(only))
  if (chosen.length === 0) throw new UsageError(`No subject of this suite has "${only}" in its name.`)

  const limits = new Set([limit, peer, ...chosen.map(({ ownLimit }) => ownLimit)])
  return subjects.filter((subject) => chosen.includes(subject) || limits.has(subject.name))
}

function oneOf<Value extends string>(
  name: string,
  value: string | undefined,
  values: readonly Value[],
): Value {
  const found = values.find((each) => each === value)
  if (found === undefined) throw new UsageError(`${name} must be one of ${values.join(', ')}.`)
  return found
}

function number(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new UsageError(`${name} must be a number above 0, not "${text}".`)
  return value
}
