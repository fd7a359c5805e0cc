import { Logger as NestLogger } from '@nestjs/common'
import type { Logger } from 'sendoff'
import { defaultOutboxName } from './outbox-tokens.ts'

/** Sends the reports of an outbox to the logger of the application. */
export function nestLogger(name: string): Logger {
  const logger = new NestLogger(name === defaultOutboxName ? 'Outbox' : `Outbox ${name}`)
  return {
    debug: (message) => logger.debug(message),
    info: (message) => logger.log(message),
    warn: (message) => logger.warn(message),
    error: (message) => logger.error(message),
  }
}
