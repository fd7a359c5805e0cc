import { SeededRandom } from '../../faults/run/seeded-random.ts'

/** How long one hop of a message, or one step of a statement, takes. */
export interface Delays {
  /** Milliseconds of the next hop of an actor: a process and the kind of call. */
  nextMs(actor: string): number
}

/** Most hops are short, and a few take long. Each actor has random numbers of its own. */
export function randomDelays(seed: number): Delays {
  const randoms = new Map<string, SeededRandom>()
  return {
    nextMs(actor) {
      const random = streamOf(randoms, seed, actor)
      const chance = random.next()
      if (chance < 0.9) return random.between(0.05, 0.5)
      return chance < 0.985 ? random.between(0.5, 20) : random.between(20, 400)
    },
  }
}

/** How many times the priority of an actor changes in a history. */
const changePoints = 6

/** About how many hops a history has. */
const usualHops = 12_000

/** The delay of each priority, in ms: the highest first. */
const priorityMs = [0.05, 0.4, 3, 25, 200, 900]

/**
 * Probabilistic concurrency testing: every actor has a priority, and the ones with a high priority go first,
 * always. At a few random points the priority of the actor at work changes. A bug that needs few reorderings
 * is found with a known probability.
 */
export function priorityDelays(seed: number): Delays {
  const random = new SeededRandom(seed)
  const randoms = new Map<string, SeededRandom>()
  const priorities = new Map<string, number>()
  const points = new Set(Array.from({ length: changePoints }, () => random.integer(1, usualHops)))
  let hops = 0
  return {
    nextMs(actor) {
      const own = streamOf(randoms, seed, actor)
      let priority = priorities.get(actor)
      if (priority === undefined) {
        // Slow ones are rare, or nothing would ever be done.
        priority = own.pick([0, 0, 0, 1, 1, 2, 2, 3, 4])
        priorities.set(actor, priority)
      }
      if (points.has(++hops)) priorities.set(actor, (priority = own.pick([0, 3, 4, 5])))
      return priorityMs[priority]! * own.between(0.9, 1.1)
    },
  }
}

function streamOf(streams: Map<string, SeededRandom>, seed: number, name: string): SeededRandom {
  let stream = streams.get(name)
  if (stream === undefined) streams.set(name, (stream = new SeededRandom(mixed(seed, name))))
  return stream
}

/** Returns a seed of its own for a purpose. */
export function mixed(seed: number, name: string): number {
  let hash = seed >>> 0
  for (let place = 0; place < name.length; place++) {
    hash = Math.imul(hash ^ name.charCodeAt(place), 0x01000193) >>> 0
  }
  return hash
}
