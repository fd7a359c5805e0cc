import type { Delivery } from './delivery.ts'

/** So many vanished holders make an event a suspect: it may be what ended them. */
const suspectLosses = 3

export function isSuspect({ row }: Delivery): boolean {
  return row.losses >= suspectLosses
}
