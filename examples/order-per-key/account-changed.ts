import { defineEvent } from 'sendoff'

/** The account is the ordering key: its changes are delivered in the order of their numbers. */
export const AccountChanged = defineEvent<{ readonly account: string; readonly number: number }>(
  'AccountChanged',
  { aggregateType: 'Account', aggregateId: ({ account }) => account },
)
