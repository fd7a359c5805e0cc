import type { Letter, SendResult } from './broker-publisher.ts'

/**
 * Sends messages of different keys concurrently. Messages of one key go one after another, each when the one
 * before is acknowledged. After a failed message, later ones of its key are held.
 */
export async function sendInLanes<Message>(
  letters: readonly Letter<Message>[],
  sendOne: (message: Message) => Promise<unknown>,
): Promise<readonly SendResult[]> {
  const results: SendResult[] = letters.map(() => 'held')

  const run = async (lane: readonly number[]): Promise<void> => {
    for (const index of lane) {
      try {
        await sendOne(letters[index]!.message)
        results[index] = 'acknowledged'
      } catch (error) {
        results[index] = { error }
        return
      }
    }
  }
  await Promise.all(lanesOf(letters).map(run))
  return results
}

function lanesOf(letters: readonly Letter<unknown>[]): readonly (readonly number[])[] {
  const lanes: number[][] = []
  const byKey = new Map<string, number[]>()
  for (const [index, { key }] of letters.entries()) {
    const known = key === null ? undefined : byKey.get(key)
    if (known !== undefined) {
      known.push(index)
      continue
    }
    const lane = [index]
    lanes.push(lane)
    if (key !== null) byKey.set(key, lane)
  }
  return lanes
}
