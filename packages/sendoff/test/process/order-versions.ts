import { defineEvent } from '../../src/event/event-type.ts'

/** The same event before and after a deploy. */
export const orderPlaced = {
  first: defineEvent<{ readonly id: number; readonly cents: number }>('OrderPlaced'),
  second: defineEvent<{ readonly id: number; readonly total: number }>('OrderPlaced', {
    version: 2,
    upgrade: { 1: ({ id, cents }: { id: number; cents: number }) => ({ id, total: cents / 100 }) },
  }),
}
