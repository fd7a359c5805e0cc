import type { StoreCheck } from '../store-check.ts'
import { actionChecks } from './action-checks.ts'
import { claimChecks } from './claim-checks.ts'
import { claimTypesChecks } from './claim-types-checks.ts'
import { controlChecks } from './control-checks.ts'
import { destinationChecks } from './destination-checks.ts'
import { fenceChecks } from './fence-checks.ts'
import { idempotencyChecks } from './idempotency-checks.ts'
import { inboxChecks } from './inbox-checks.ts'
import { insertChecks } from './insert-checks.ts'
import { keyChecks } from './key-checks.ts'
import { laneChecks } from './lane-checks.ts'
import { leaseChecks } from './lease-checks.ts'
import { lockChecks } from './lock-checks.ts'
import { lookChecks } from './look-checks.ts'
import { migrateChecks } from './migrate-checks.ts'
import { nodeChecks } from './node-checks.ts'
import { reportChecks } from './report-checks.ts'
import { partitionChecks } from './partition-checks.ts'
import { payloadChecks } from './payload-checks.ts'
import { pollChecks } from './poll-checks.ts'
import { purgeChecks } from './purge-checks.ts'
import { queryChecks } from './query-checks.ts'
import { replayChecks } from './replay-checks.ts'
import { settleChecks } from './settle-checks.ts'
import { timeChecks } from './time-checks.ts'
import { transactionChecks } from './transaction-checks.ts'
import { unreadableChecks } from './unreadable-checks.ts'

/** The store contract as a list of checks. A store that passes all of them keeps the contract. */
export const storeChecks: readonly StoreCheck[] = [
  ...migrateChecks,
  ...transactionChecks,
  ...insertChecks,
  ...payloadChecks,
  ...idempotencyChecks,
  ...timeChecks,
  ...claimChecks,
  ...claimTypesChecks,
  ...leaseChecks,
  ...settleChecks,
  ...fenceChecks,
  ...lockChecks,
  ...pollChecks,
  ...partitionChecks,
  ...laneChecks,
  ...keyChecks,
  ...destinationChecks,
  ...controlChecks,
  ...nodeChecks,
  ...reportChecks,
  ...queryChecks,
  ...replayChecks,
  ...lookChecks,
  ...actionChecks,
  ...purgeChecks,
  ...inboxChecks,
  ...unreadableChecks,
]
