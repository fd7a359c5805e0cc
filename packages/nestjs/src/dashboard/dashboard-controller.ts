import { All, type CanActivate, Controller, Inject, Req, Res, type Type, UseGuards } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import { type FrameworkRequest, type FrameworkResponse, ServedDashboard } from './served-dashboard.ts'

/**
 * Makes a controller that passes all requests below its path on to the dashboard. It is a class of its own
 * for each path, because Nest keeps path and guards with the class.
 */
export function dashboardController(
  path: string,
  guards: readonly (Type<CanActivate> | CanActivate)[],
): Type {
  class DashboardController {
    readonly #dashboard: ServedDashboard

    constructor(dashboard: ServedDashboard, { httpAdapter }: HttpAdapterHost) {
      this.#dashboard = dashboard
      // Nest reads the routes when all controllers exist. Only now it is known which server it has.
      const rest = httpAdapter?.getType() === 'fastify' ? '*' : '*path'
      All(['', rest])(DashboardController.prototype, 'serve', method)
    }

    serve(request: FrameworkRequest, response: FrameworkResponse): void {
      this.#dashboard.serve(request, response)
    }
  }

  // Calls of decorators in place of their syntax, which Node does not know.
  const method = Object.getOwnPropertyDescriptor(DashboardController.prototype, 'serve')!
  Inject(ServedDashboard)(DashboardController, undefined, 0)
  Inject(HttpAdapterHost)(DashboardController, undefined, 1)
  Req()(DashboardController.prototype, 'serve', 0)
  Res()(DashboardController.prototype, 'serve', 1)
  UseGuards(...guards)(DashboardController)
  Controller(path)(DashboardController)
  return DashboardController
}
