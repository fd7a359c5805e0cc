import type { NamedRow } from './leases.ts'
import type { HeldRow } from './rows.ts'

/** Whether a row has another fence or holder than a claim has named. */
export function hasChanged(
  { deliveries, lockedBy }: Pick<HeldRow, 'deliveries' | 'lockedBy'>,
  { unchanged }: NamedRow,
): boolean {
  return unchanged !== undefined && (unchanged.deliveries !== deliveries || unchanged.lockedBy !== lockedBy)
}
