import { HttpDestination } from '../test/services/servers/http-destination.ts'

/** What the destination is told to do. */
export type DestinationOrder = 'goAway' | 'fallSilent' | 'comeBack' | 'count'

/** What it answers when it has done so. */
export interface DestinationAnswer {
  readonly url: string
  readonly arrivals: number
}

// A server that events are sent to, in a process of its own: what it does costs the measured one nothing.
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
