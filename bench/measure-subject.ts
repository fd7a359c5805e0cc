import type { Conditions, Measurement, Subject, SuiteName } from './store-bench.ts'
import { stores } from './stores/stores.ts'

/** What this process is started for, as JSON in its first argument. */
export interface MeasureRequest {
  readonly store: string
  readonly suite: SuiteName
  readonly subject: string
  readonly conditions: Conditions
}

// Measures one subject once and sends the measurement to the process that has started this one.
if (import.meta.main) {
  // Nobody would be there to take the answer.
  const leave = () => process.exit(1)
  process.on('disconnect', leave)

  const request = JSON.parse(process.argv[2]!) as MeasureRequest
  const measurement: Measurement = await findSubject(request).measure(request.conditions)
  process.off('disconnect', leave)
  process.send!(measurement, () => process.disconnect())
}

function findSubject({ store, suite, subject }: MeasureRequest): Subject {
  const found = stores
    .find(({ name }) => name === store)
    ?.suites[suite]?.subjects.find(({ name }) => name === subject)
  if (found === undefined) throw new Error(`There is no subject ${subject} in suite ${suite} of ${store}.`)
  return found
}
