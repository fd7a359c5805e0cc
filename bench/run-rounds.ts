import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { temporaryFolder } from '../test/services/machine/temporary-folder.ts'
import type { MeasureRequest } from './find-subject.ts'
import type { Measurement } from './metrics.ts'
import type { Conditions, Series, StoreBench, Subject, Suite, SuiteName } from './store-bench.ts'

/** Beside the time that the measurement is to take. */
const timeLimitMs = 240_000

export interface RoundsRequest {
  readonly store: StoreBench
  readonly suiteName: SuiteName
  readonly suite: Suite
  readonly rounds: number
  readonly conditions: Omit<Conditions, 'folder'>
  readonly onMeasured: (round: number, subject: string, measurement: Measurement) => void
  readonly onDrawn: (subject: string, series: readonly Series[]) => void
}

/** A message of a measuring process: values over time, for a chart. */
export interface Drawn {
  readonly series: readonly Series[]
}

/** The measurements of each subject, one for each round. */
export type Results = ReadonlyMap<string, readonly Measurement[]>

/**
 * Measures every subject once, then every subject a second time, and so on. If the machine becomes slower
 * meanwhile, it does so for all subjects, and their ratios stay the same.
 */
export async function runRounds(request: RoundsRequest): Promise<Results> {
  const { store, suiteName, suite, rounds, onMeasured } = request
  const results = new Map<string, Measurement[]>(suite.subjects.map(({ name }) => [name, []]))

  await inFolder(request, async (conditions) => suite.prepare?.(conditions))
  try {
    for (let round = 1; round <= rounds; round++) {
      const measure = async ({ name: subject }: Subject, run = request.conditions.run) => {
        const measurement = await inFolder(request, (conditions) =>
          measureInChild(
            { store: store.name, suite: suiteName, subject, conditions: { ...conditions, run } },
            (series) => request.onDrawn(subject, series),
          ),
        )
        results.get(subject)!.push(measurement)
        onMeasured(round, subject, measurement)
      }
      if (suite.together) {
        const { run } = request.conditions
        await Promise.all(suite.subjects.map((subject, index) => measure(subject, `${run}_${index}`)))
      } else {
        for (const subject of inTurn(suite.subjects, round)) {
          settleDisk()
          await measure(subject)
        }
      }
    }
  } finally {
    await inFolder(request, async (conditions) => store.cleanUp?.(conditions))
  }
  return results
}

async function inFolder<Result>(
  { conditions }: RoundsRequest,
  work: (conditions: Conditions) => Promise<Result>,
): Promise<Result> {
  const folder = temporaryFolder('bench')
  try {
    return await work({ ...conditions, folder: folder.path })
  } finally {
    folder.remove()
  }
}

// Each round begins with another subject, and every other round runs backwards. So no subject always follows
// the same one.
function inTurn(subjects: readonly Subject[], round: number): readonly Subject[] {
  const first = (round - 1) % subjects.length
  const turn = [...subjects.slice(first), ...subjects.slice(0, first)]
  return round % 2 === 1 ? turn : turn.reverse()
}

/** Flushes the disk, so that pending writes of one subject do not slow the next one down. */
function settleDisk(): void {
  // Without this command, pending writes may affect the next subject.
  spawnSync('sync', { stdio: 'ignore' })
}

/**
 * Measures in a process of its own, so that code, caches and garbage of one subject do not affect another.
 */
async function measureInChild(
  request: MeasureRequest,
  onDrawn: (series: readonly Series[]) => void,
): Promise<Measurement> {
  const script = join(import.meta.dirname, 'measure-subject.ts')
  const child = fork(script, [JSON.stringify(request)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    signal: AbortSignal.timeout(timeLimitMs + request.conditions.seconds * 1_500),
  })
  let measurement: Measurement | undefined
  child.on('message', (message) => {
    if (typeof message === 'object' && 'series' in message) onDrawn((message as Drawn).series)
    else measurement = message as Measurement
  })

  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === 0 && measurement !== undefined) return measurement
  throw new Error(`Measuring ${request.subject} failed: its process ended with code ${code}.`)
}
