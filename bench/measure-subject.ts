import { findSubject, measureRequest } from './find-subject.ts'
import type { Drawn } from './run-rounds.ts'

// Measures one subject once and sends the measurement to the parent process.
if (import.meta.main) {
  // The parent process is gone and cannot receive the measurement.
  const leave = () => process.exit(1)
  process.on('disconnect', leave)

  const request = measureRequest()
  const measurement = await findSubject(request).measure(request.conditions, (series) =>
    process.send!({ series } satisfies Drawn),
  )
  process.off('disconnect', leave)
  process.send!(measurement, () => process.disconnect())
}
