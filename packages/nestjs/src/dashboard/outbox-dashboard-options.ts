import type {
  CanActivate,
  DynamicModule,
  InjectionToken,
  OptionalFactoryDependency,
  Type,
} from '@nestjs/common'
import type { DashboardOptions, Visitor } from '@sendoff/dashboard'

/** Where the dashboard is in the application, and who guards it. */
export interface OutboxDashboardPlace {
  /** The path of its controller. Default: `outbox`. */
  readonly path?: string
  /** Guards of its controller, beside those of the whole application. Default: none. */
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[]
  /** The outboxes that it shows, by their names in the application. Default: the one without a name. */
  readonly outboxes?: readonly string[]
  /** The modules that export what guards and `useFactory` need. */
  readonly imports?: DynamicModule['imports']
}

/**
 * What the dashboard does: the options of `dashboard()`, with an `authorize` that gets the request of the
 * application.
 */
export interface OutboxDashboardSettings extends Omit<Partial<DashboardOptions>, 'authorize'> {
  /**
   * Says who sends a request that the guards let through. Gets the request of Express or Fastify, on which a
   * guard may have left the user. Returns undefined to refuse it.
   */
  readonly authorize: (
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- It is that of Express or of Fastify.
    request: any,
  ) => Visitor | Response | undefined | Promise<Visitor | Response | undefined>
}

/** Options of `OutboxDashboardModule.forRoot`. */
export type OutboxDashboardOptions = OutboxDashboardPlace & OutboxDashboardSettings

/** Options of `OutboxDashboardModule.forRootAsync`. */
export interface OutboxDashboardAsyncOptions extends OutboxDashboardPlace {
  /** The tokens of the arguments of `useFactory`. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[]
  /** Makes the settings. */
  readonly useFactory: (
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- Nest passes what `inject` names.
    ...dependencies: any[]
  ) => OutboxDashboardSettings | Promise<OutboxDashboardSettings>
}
