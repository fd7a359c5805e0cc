/** A web dashboard for outboxes: `dashboard({ admins, authorize })`. */
export { dashboard, type DashboardHandler } from './dashboard.ts'
export type { DashboardOptions } from './dashboard-options.ts'
export { tokenAuthorize, type TokenAuthorizeOptions } from './guard/token-authorize.ts'
export type { Authorize, Role, Visitor } from './guard/visitor.ts'
export { nodeListener, type NodeListener, type WebHandler } from './serve/node-handler.ts'
export { serveDashboard, type ServedDashboard, type ServeDashboardOptions } from './serve/serve-dashboard.ts'
