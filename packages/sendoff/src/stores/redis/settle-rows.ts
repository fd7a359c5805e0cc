import type { Outcome, OwnerFence, Settlement } from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import { memberOf } from './redis-keyspace.ts'
import type { RunScript } from './drivers/run-script.ts'
import { settleScript } from './scripts/settle-script.ts'

/**
 * Records outcomes. Nearly all rows are settled alike: done or deleted without a failure, with the same
 * holder and fence. The script gets only the numbers of these.
 */
export async function settleRows(
  run: RunScript,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
): Promise<readonly Settlement[]> {
  if (batch.length === 0) return []

  const groups = new Map<string, Settlement[]>()
  const others: Settlement[] = []
  for (const settlement of batch) {
    const { row, outcome } = settlement
    const isPlain = (outcome.kind === 'done' || outcome.kind === 'delete') && outcome.failure === undefined
    if (!isPlain) {
      others.push(settlement)
      continue
    }
    const name = `${outcome.kind} ${row.deliveries} ${row.lockedBy === null ? '' : `=${row.lockedBy}`}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [settlement])
    else group.push(settlement)
  }

  const values = [owner?.lock ?? '', owner?.token ?? '', String(groups.size)]
  for (const group of groups.values()) {
    const { row, outcome } = group[0]!
    const holder = row.lockedBy === null ? '' : `=${row.lockedBy}`
    values.push(outcome.kind, holder, String(row.deliveries), String(group.length))
    for (const settlement of group) values.push(memberOf(settlement.row.seq))
    if (outcome.kind === 'delete') for (const settlement of group) values.push(settlement.row.eventId)
  }
  values.push(JSON.stringify(others.map(outcomeValues)))

  const refused = (await run(settleScript, values)) as readonly number[]
  if (refused.length === 0) return []
  const inOrder = [...[...groups.values()].flat(), ...others]
  return refused.map((place) => inOrder[place - 1]!)
}

// We replace half surrogate pairs as UTF-8 would, because Lua's JSON refuses them.
function outcomeValues({ row, outcome }: Settlement): readonly unknown[] {
  const failure = 'failure' in outcome ? outcome.failure : undefined
  return [
    memberOf(row.seq),
    row.lockedBy?.toWellFormed() ?? false,
    row.deliveries,
    outcome.kind,
    'delayMs' in outcome ? outcome.delayMs : 0,
    failure === undefined ? false : textOf(failure.error),
    failure?.counted ?? false,
    reasonOf(outcome),
    row.eventId.toWellFormed(),
  ]
}

function reasonOf(outcome: Outcome): string | false {
  return outcome.kind === 'defer' && outcome.reason !== undefined ? textOf(outcome.reason) : false
}

function textOf(error: string): string {
  return storedErrorText(error).toWellFormed()
}
