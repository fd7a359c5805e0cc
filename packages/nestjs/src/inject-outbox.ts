import { Inject } from '@nestjs/common'
import { getOutboxToken } from './outbox-tokens.ts'

/**
 * Injects the outbox of this name into a constructor or a property. The type of the parameter is
 * `EventWriter<Tx>` for code that only writes, or `Outbox<Tx>`.
 */
export function InjectOutbox(name?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getOutboxToken(name))
}
