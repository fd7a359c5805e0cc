import type { InjectionToken } from '@nestjs/common'
import type { RetryPolicy } from 'sendoff'
import { setRetryable } from './listener-metadata.ts'

/**
 * Gives a listener its retry policy: the policy itself, or the token of a provider of one. On a class it is
 * for all of its listeners. A method's own policy takes precedence, and the option `retry` over both.
 */
export function OutboxRetryable(
  policy: RetryPolicy | InjectionToken<RetryPolicy>,
): ClassDecorator & MethodDecorator {
  return (target: object, _method?: string | symbol, descriptor?: PropertyDescriptor) =>
    setRetryable((descriptor?.value as object | undefined) ?? target, policy)
}
