import { type Logger, standardLogger } from '../observe/logger.ts'
import { checkOptions, having } from '../options.ts'
import type { MailTransport } from './mail-transport.ts'

/** Options of `logTransport`. */
export interface LogTransportOptions {
  /** Standard error by default. */
  readonly logger?: Pick<Logger, 'info'>
}

/** Logs each mail instead of sending it, for development. The log shows the subject, but not the texts. */
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
