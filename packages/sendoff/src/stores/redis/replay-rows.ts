import type { RowId } from '../../store/index.ts'
import type { RunScript } from './drivers/run-script.ts'
import { replayScript } from './scripts/upkeep-scripts.ts'

/** Replays DEAD rows. Returns how many it replayed. */
export async function replayRows(run: RunScript, rows: readonly RowId[]): Promise<number> {
  if (rows.length === 0) return 0
  const values = rows.flatMap(({ eventId, destination }) => [eventId, destination])
  return (await run(replayScript, values)) as number
}
