import type { ArgumentsHost, ExecutionContext, Type } from '@nestjs/common'
import { OutboxError } from 'sendoff'

/** What interceptors and exception filters of listeners get as `getType()`. */
export const outboxContextType = 'outbox'

/**
 * The context of one call of a listener, for interceptors and exception filters. Its arguments are those of
 * the listener: the event and its `DispatchContext`.
 */
export class ListenerContext implements ExecutionContext, ArgumentsHost {
  readonly #class: Type
  // eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- Nest's own type of a handler.
  readonly #handler: Function
  readonly #args: readonly unknown[]

  // eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as above
  constructor(listener: Type, handler: Function, args: readonly unknown[]) {
    this.#class = listener
    this.#handler = handler
    this.#args = args
  }

  getClass<T>(): Type<T> {
    return this.#class as Type<T>
  }

  // eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as above
  getHandler(): Function {
    return this.#handler
  }

  getArgs<T extends unknown[]>(): T {
    return [...this.#args] as T
  }

  getArgByIndex<T>(index: number): T {
    return this.#args[index] as T
  }

  getType<TContext extends string>(): TContext {
    return outboxContextType as TContext
  }

  switchToHttp(): never {
    throw this.#notFrom('HTTP')
  }

  switchToRpc(): never {
    throw this.#notFrom('RPC')
  }

  switchToWs(): never {
    throw this.#notFrom('web sockets')
  }

  #notFrom(what: string): OutboxError {
    return new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `A listener of the outbox has no request of ${what}. Check that getType() is "${outboxContextType}", and read getArgs(): the event and its context.`,
    )
  }
}
