/**
 * A promise that notices whether any code would see its rejection: an `await`, or a rejection callback. Both
 * count on the promise itself, and on promises that `then` and `finally` derive from it.
 *
 * It has to be a subclass, because `await` does not call `then` of a plain promise.
 */
export class NoticingPromise<Result> extends Promise<Result> {
  /** Derived promises are plain by default: most are of no interest, and plain ones cost less. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  #isHeard = false
  #origin: NoticingPromise<unknown> | undefined

  get isHeard(): boolean {
    return this.#isHeard
  }

  override then<Fulfilled = Result, Rejected = never>(
    onFulfilled?: ((value: Result) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    if (typeof onRejected !== 'function') return this.#followedBy(super.then(onFulfilled, onRejected))
    this.#hear()
    return super.then(onFulfilled, onRejected)
  }

  override finally(onFinally?: (() => void) | null): Promise<Result> {
    // The inherited `finally` would call `then` with a rejection callback, which would count as handling it.
    return this.#followedBy(super.then().finally(onFinally))
  }

  /** Keeps Node from reporting an unhandled rejection: the transaction reports it. */
  silence(): void {
    void super.then(undefined, () => {})
  }

  #hear(): void {
    this.#isHeard = true
    if (this.#origin !== undefined) this.#origin.#hear()
  }

  #followedBy<Following>(following: Promise<Following>): Promise<Following> {
    const promise = new NoticingPromise<Following>((resolve) => resolve(following))
    promise.#origin = this
    return promise
  }
}
