import { type Logger, standardLogger } from '../observe/logger.ts'
import { checkOptions, having } from '../options.ts'
import type { MailTransport } from './mail-transport.ts'

/** Options of `logTransport`. */
export interface LogTransportOptions {
  /** Standard error where left out. */
  readonly logger?: Pick<Logger, 'info'>
}

/** Sends nothing, and says so: for development. Texts are not shown. */
export function logTransport(options: LogTransportOptions = {}): MailTransport {
  checkOptions('logTransport', options, { logger: having('info') })
  const { logger = { info: (message) => standardLogger.warn(message) } } = options

  return {
    name: 'log',

    async send({ id, subject, envelope }) {
      logger.info(`Mail ${id} to ${envelope.to.join(', ')} was not sent, only logged: ${subject}`)
      return { rejected: [] }
    },
  }
}
