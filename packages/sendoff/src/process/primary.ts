import type { EventListener } from '../route/event-listener.ts'
import type { PrimaryProcessor } from './processor.ts'

/** The first stage: calls the listener. */
export const primary: PrimaryProcessor = {
  process: (event, route, context) => (route.listener as EventListener).onEvent(event, context),
}
