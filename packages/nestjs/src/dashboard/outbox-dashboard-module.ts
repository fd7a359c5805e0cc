import type { DynamicModule, Provider } from '@nestjs/common'
import { outboxAdmin } from 'sendoff/admin'
import type { OutboxStore } from 'sendoff/store'
import { defaultOutboxName, getOutboxOptionsToken } from '../outbox-tokens.ts'
import type { ResolvedOptions } from '../resolve-options.ts'
import { dashboardController } from './dashboard-controller.ts'
import type {
  OutboxDashboardAsyncOptions,
  OutboxDashboardOptions,
  OutboxDashboardPlace,
  OutboxDashboardSettings,
} from './outbox-dashboard-options.ts'
import { ServedDashboard } from './served-dashboard.ts'

/**
 * The dashboard of `@sendoff/dashboard` as a controller of the application, so that guards protect it. It
 * shows outboxes of the application. Its live pages end before the server closes.
 */
export class OutboxDashboardModule {
  /** Adds a dashboard whose settings are known. */
  static forRoot(options: OutboxDashboardOptions): DynamicModule {
    const { path, guards, outboxes, imports, ...settings } = options
    return moduleOf({ path, guards, outboxes, imports } as OutboxDashboardPlace, [], () => settings)
  }

  /** Adds a dashboard whose settings depend on other providers. */
  static forRootAsync(options: OutboxDashboardAsyncOptions): DynamicModule {
    return moduleOf(options, options.inject ?? [], options.useFactory)
  }
}

function moduleOf(
  { path = 'outbox', guards = [], outboxes = [defaultOutboxName], imports = [] }: OutboxDashboardPlace,
  inject: NonNullable<OutboxDashboardAsyncOptions['inject']>,
  useFactory: OutboxDashboardAsyncOptions['useFactory'],
): DynamicModule {
  const basePath = `/${path.replace(/^\/|\/$/g, '')}`
  const served: Provider = {
    provide: ServedDashboard,
    inject: [...outboxes.map((name) => getOutboxOptionsToken(name)), ...inject],
    useFactory: async (...given: unknown[]) => {
      const stores = given.slice(0, outboxes.length) as ResolvedOptions[]
      const settings = await useFactory(...(given.slice(outboxes.length) as never[]))
      return new ServedDashboard({ basePath, ...settings, admins: adminsOf(outboxes, stores, settings) })
    },
  }
  return {
    module: OutboxDashboardModule,
    imports,
    providers: [served],
    controllers: [dashboardController(path, guards)],
  }
}

function adminsOf(
  names: readonly string[],
  resolved: readonly ResolvedOptions[],
  { admins = {} }: OutboxDashboardSettings,
): NonNullable<OutboxDashboardSettings['admins']> {
  const own = resolved.map(({ options }, index) => [
    names[index]!,
    outboxAdmin({ store: options.store as unknown as OutboxStore<never> }),
  ])
  return { ...(Object.fromEntries(own) as typeof admins), ...admins }
}
