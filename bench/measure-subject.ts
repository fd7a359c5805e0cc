import { findSubject, measureRequest } from './find-subject.ts'

// Measures one subject once and sends the measurement to the process that has started this one.
if (import.meta.main) {
  // Nobody would be there to take the answer.
  const leave = () => process.exit(1)
  process.on('disconnect', leave)

  const request = measureRequest()
  const measurement = await findSubject(request).measure(request.conditions)
  process.off('disconnect', leave)
  process.send!(measurement, () => process.disconnect())
}
