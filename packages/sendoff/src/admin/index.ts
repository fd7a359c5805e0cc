/** Look at an outbox and act on it, as an operator: `outboxAdmin({ store })`. */
export type {
  AuditEntry,
  BlockedKey,
  FailedAttempt,
  Finding,
  FindingCode,
  FindingSeverity,
  HolderOfRow,
  LivingProcess,
  PauseTarget,
  ProcessReport,
  RowAction,
  RowId,
  StoreDescription,
  StoredRow,
} from '../store/index.ts'
export { EventStatus } from '../store/event-status.ts'
export type { AuditLog, AuditPage } from './audit-log.ts'
export type { CopyOptions } from './copied-events.ts'
export type { DestinationOverview, DestinationState } from './destination-overview.ts'
export type { BrowseOptions, EventPage } from './browse.ts'
export type { DeliveriesOptions, DeliveryMinute } from './delivery-minutes.ts'
export type { DeliveryRate, Latency } from './delivery-rates.ts'
export type { DoctorOptions } from './doctor.ts'
export type { EventDetail } from './event-detail.ts'
export type { EventFilter, EventState } from './event-filter.ts'
export type { FailureReport, GroupedFailure } from './failure-report.ts'
export type { KeyAdmin } from './key-admin.ts'
export { outboxAdmin, type OutboxAdmin, type OutboxAdminOptions } from './outbox-admin.ts'
export type { Overview, OverviewCount, OverviewGroup, OverviewKey } from './overview.ts'
export type { Plan, PlanOptions } from './plan.ts'
export type { PlanProgress, PlanResult, RunOptions } from './plan-run.ts'
export {
  type AnyDefinedEvent,
  type PayloadCheck,
  replacesHeader,
  type Replacement,
  type ReplacementOptions,
} from './replacement.ts'
