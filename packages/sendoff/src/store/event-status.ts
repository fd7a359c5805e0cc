/** The states of an event, with the codes that they have in every store. */
export const EventStatus = {
  NEW: 0,
  DONE: 1,
  RETRY: 2,
  DEAD: 3,
} as const

export type EventStatus = (typeof EventStatus)[keyof typeof EventStatus]

/** Whether an event is still to be delivered: NEW or RETRY. */
export function isPending(status: EventStatus): boolean {
  return status === EventStatus.NEW || status === EventStatus.RETRY
}
