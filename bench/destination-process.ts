import { HttpDestination } from '../test/services/servers/http-destination.ts'

/** A command to the destination. */
export type DestinationOrder = 'goAway' | 'fallSilent' | 'comeBack' | 'count'

/** The destination's reply after a command. */
export interface DestinationAnswer {
  readonly url: string
  readonly arrivals: number
}

// A server that events are sent to. It has a process of its own, so that its work costs the measured one
// nothing.
if (import.meta.main) {
  process.on('disconnect', () => process.exit())
  const destination = await HttpDestination.start()
  const answer = () => {
    process.send!({ url: destination.url, arrivals: destination.arrivals.size } satisfies DestinationAnswer)
  }
  process.on('message', (order: DestinationOrder) => void obey(order).then(answer))
  answer()

  async function obey(order: DestinationOrder): Promise<void> {
    if (order !== 'count') await destination[order]()
  }
}
