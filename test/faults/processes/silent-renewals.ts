import type { ProcessHistory } from '../history/process-history.ts'

/** How probable it is that a renewal of leases or of a lock gets no reply. */
export interface RenewalLosses {
  /** Probability that one renewal gets no reply, and the next one does. */
  readonly one: number
  /** Probability that no renewal gets a reply for two leases. */
  readonly all: number
}

/** The harms of this file. They keep no process from settling. */
export const renewalHarmNames: readonly string[] = ['silentRenewal', 'silentRenewals']

/**
 * Loses renewals on their way: one now and then, or all of them for a while. One lost renewal costs no lease,
 * so it is not recorded as a cut-off. Harm from outside hardly ever hits these moments.
 */
export class SilentRenewals {
  readonly #history: ProcessHistory
  readonly #losses: RenewalLosses
  readonly #leaseMs: number
  #silence = { from: -Infinity, until: -Infinity }

  constructor(history: ProcessHistory, losses: RenewalLosses, leaseMs: number) {
    this.#history = history
    this.#losses = losses
    this.#leaseMs = leaseMs
  }

  of<Target extends { renew(...request: never[]): Promise<unknown> }>(target: Target): Target {
    let wasLost = false
    const renew = (...request: never[]): Promise<unknown> => {
      wasLost = !wasLost && this.#losesOne()
      if (this.#losesAll() || wasLost) return new Promise(() => {})
      return target.renew(...request)
    }
    return new Proxy(target, {
      get: (_, name) => {
        if (name === 'renew') return renew
        const member = Reflect.get(target, name) as unknown
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      },
    })
  }

  #losesOne(): boolean {
    if (Math.random() >= this.#losses.one) return false
    this.#sayOutage('silentRenewal')
    return true
  }

  #losesAll(): boolean {
    const now = this.#history.now()
    if (now >= this.#silence.until && Math.random() < this.#losses.all) {
      this.#silence = { from: now, until: now + 2 * this.#leaseMs }
      this.#sayOutage('silentRenewals')
    }
    if (now >= this.#silence.until) return false
    this.#history.say({ kind: 'cutOff', since: this.#silence.from, what: 'silent renewals' })
    return true
  }

  #sayOutage(what: string): void {
    const slot = this.#history.process.split('.')[0]!
    this.#history.say({ kind: 'outage', what, since: this.#history.now(), slot })
  }
}
