import { describeError } from '../describe-error.ts'
import { isStorable } from '../options.ts'
import { immediately } from './guarded.ts'
import type { RepeatedLines } from './repeated-lines.ts'
import { runInside } from './run-inside.ts'

/**
 * Carries a part of the writer's context to the listener, such as a tenant, a user or a correlation id. The
 * value is stored as a header of the event, under this name.
 */
export interface ContextCarrier {
  /** The name of the header. */
  readonly name: string
  /** Returns the value of the code that writes now; undefined for none. */
  capture(): string | undefined
  /** Calls `run` with the value in place, such as `(value, run) => storage.run(value, run)`. */
  restore<Result>(value: string, run: () => Result): Result
}

/** No longer value fits into the headers of an event. */
const maxValueLength = 65_536

/** The headers of an event. */
export type ContextHeaders = Readonly<Record<string, string>>

/** Captures and restores what all carriers carry. A carrier that fails is reported, and left out. */
export class CarriedContext {
  readonly #carriers: readonly ContextCarrier[]
  readonly #lines: RepeatedLines

  constructor(carriers: readonly ContextCarrier[], lines: RepeatedLines) {
    this.#carriers = carriers
    this.#lines = lines
  }

  /** Adds the current values to headers. */
  captureInto(headers: Record<string, string>): void {
    for (const carrier of this.#carriers) {
      const onError = (error: unknown): void => this.#failed(carrier, error)
      const value: unknown = immediately(() => carrier.capture(), onError)
      // Not every text can be stored, and a write must not fail because of its context. A mended text could
      // be the name of another tenant.
      if (typeof value === 'string' && value.length < maxValueLength && isStorable(value))
        headers[carrier.name] = value
      else if (value !== undefined)
        onError(new TypeError('Its value is not a text that can be stored, or too long.'))
    }
  }

  /** Runs `work` with the values of these headers in place. */
  around<Result>(headers: ContextHeaders, work: () => Result): Result {
    const within = this.#carriers.reduceRight<() => Result>((inner, carrier) => {
      const value = headers[carrier.name]
      if (value === undefined) return inner
      return () =>
        runInside(
          (run) => carrier.restore(value, run),
          inner,
          (error) => this.#failed(carrier, error),
        )
    }, work)
    return within()
  }

  /** Returns the headers that all of these have, with the same value. */
  common(all: readonly ContextHeaders[]): ContextHeaders {
    const [first = {}, ...others] = all
    return Object.fromEntries(
      Object.entries(first).filter(([name, value]) => others.every((headers) => headers[name] === value)),
    )
  }

  #failed({ name }: ContextCarrier, error: unknown): void {
    this.#lines.tell('error', `failures of the context carrier "${name}"`, () => [
      `The context carrier "${name}" failed, and its value is left out. ${describeError(error)}`,
      {},
    ])
  }
}
