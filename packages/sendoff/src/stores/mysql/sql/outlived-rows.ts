import type { PurgeRequest } from '../../../store/index.ts'
import type { Value } from '../drivers/mysql-driver.ts'
import { ago } from './row-conditions.ts'
import { ageValue } from './statement-values.ts'

/**
 * Returns the condition called `outlived` and its parameters. If a row has an end state but no end time, its
 * age counts from its beginning.
 */
export function outlived(request: PurgeRequest): { condition: string; values: Value[] } {
  const { doneOlderThanMs, deadOlderThanMs, anyOlderThanMs } = request
  const cases = [
    { age: doneOlderThanMs, condition: `status = 1 and coalesce(done_at, created_at) < ${ago}` },
    { age: deadOlderThanMs, condition: `status = 3 and coalesce(done_at, created_at) < ${ago}` },
    { age: anyOlderThanMs, condition: `created_at < ${ago}` },
  ]
  const given = cases.flatMap(({ age, condition }) => (age === undefined ? [] : [{ age, condition }]))
  return {
    condition: given.map(({ condition }) => condition).join(' or '),
    values: given.map(({ age }) => ageValue(age)),
  }
}
