/**
 * A promise that notices whether anything would hear of its rejection: an `await`, or a callback for it, on the promise itself or
 * on what follows from it by `then` and `finally`.
 *
 * It has to be a class of its own: of a plain promise, `await` does not call `then`.
 */
export class NoticingPromise<Result> extends Promise<Result> {
  /** Most of what follows is of no interest, and costs less as a plain promise. */
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
    // Its own would call `then` with a callback for rejections, which goes on with the same rejection.
    return this.#followedBy(super.then().finally(onFinally))
  }

  /** Keeps Node from taking its rejection for one that is not handled: the transaction tells of it. */
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
