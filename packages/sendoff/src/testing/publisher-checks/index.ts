import type { PublisherCheck } from '../publisher-check.ts'
import { drainChecks } from './drain-checks.ts'
import { orderChecks } from './order-checks.ts'
import { outageChecks } from './outage-checks.ts'
import { refusalChecks } from './refusal-checks.ts'
import { wireChecks } from './wire-checks.ts'

/** The promises of publishers, as a list of checks to run against a real broker. */
export const publisherChecks: readonly PublisherCheck[] = [
  ...wireChecks,
  ...orderChecks,
  ...refusalChecks,
  ...drainChecks,
  ...outageChecks,
]
