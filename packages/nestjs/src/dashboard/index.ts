/** The dashboard as a controller of a Nest application: `OutboxDashboardModule`. */
export { OutboxDashboardModule } from './outbox-dashboard-module.ts'
export type {
  OutboxDashboardAsyncOptions,
  OutboxDashboardOptions,
  OutboxDashboardPlace,
  OutboxDashboardSettings,
} from './outbox-dashboard-options.ts'
