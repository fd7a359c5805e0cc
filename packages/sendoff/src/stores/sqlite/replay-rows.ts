import type { RowId } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'

/** Replays DEAD rows. Returns how many it replayed. */
export async function replayRows(own: OwnDriver, rows: readonly RowId[]): Promise<number> {
  if (rows.length === 0) return 0

  return own.write(({ replay }, now) =>
    rows.reduce(
      (count, { eventId, destination }) => count + Number(replay.run(now, eventId, destination).changes),
      0,
    ),
  )
}
