import type { JudgedHistory } from '../judged-history.ts'
import type { Rule } from './rule.ts'

/** A worker does at least this part of its equal share: of two workers, a fifth of all events. */
const leastShare = 0.4

/** For each worker; fewer events prove nothing. */
const enoughEvents = 20

export const sharingRules: readonly Rule[] = [
  {
    name: 'a worker takes no event that it has no listener for',
    *violations(history) {
      for (const [event, settlements] of history.settlements) {
        const behaviour = history.written.get(event)?.behaviour
        if (behaviour !== 'heardByOdd' && behaviour !== 'heardByEven') continue
        const begunBy = new Set(history.deliveries.get(event)?.map(({ process }) => process))
        const foreign = settlements.find(({ process }) => !begunBy.has(process))
        if (foreign !== undefined) {
          yield `${event} (${behaviour}) was settled as ${foreign.outcome} by ${foreign.process}, which has no listener for it`
        }
      }
    },
  },
  {
    name: 'workers share slow work when nothing goes wrong',
    *violations(history) {
      const { workers, settings, outages, kills, lastFaultAt } = history
      if (settings.mode !== 'multiNode' || lastFaultAt > -Infinity || outages.length + kills.length > 0)
        return
      if (workers.some((worker) => history.wasAway(worker, -Infinity, Infinity))) return
      const begun = slowDeliveries(history)
      if (begun.length < enoughEvents * workers.length) return
      for (const worker of workers) {
        const count = begun.filter((process) => process === worker).length
        const least = (begun.length / workers.length) * leastShare
        if (count < least)
          yield `${worker} began ${count} of ${begun.length}, one of ${workers.length} workers`
      }
    },
  },
]

/** Returns the process of every delivery of a slow event. */
function slowDeliveries(history: JudgedHistory): readonly string[] {
  return [...history.deliveries.values()]
    .flat()
    .flatMap(({ event, process }) => (history.written.get(event)?.behaviour === 'slow' ? [process] : []))
}
